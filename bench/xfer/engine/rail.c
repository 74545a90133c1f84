/* A rail: one NIC's fabric, domain, address vector, queue and endpoint. */
#include "internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static struct fi_info *wish(const char *provider, const char *domain)
{
	struct fi_info *h = fi_allocinfo();
	if (!h)
		return NULL;
	h->caps = FI_MSG | FI_RMA;
	h->mode = FI_CONTEXT | FI_CONTEXT2;
	h->ep_attr->type = FI_EP_RDM;
	h->fabric_attr->prov_name = strdup(provider);
	if (domain)
		h->domain_attr->name = strdup(domain);
	h->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	h->domain_attr->threading = FI_THREAD_DOMAIN;
	h->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	h->domain_attr->control_progress = FI_PROGRESS_MANUAL;
	h->domain_attr->resource_mgmt = FI_RM_ENABLED;
	h->domain_attr->cq_data_size = 4;
	return h;
}

static int ask(const char *provider, const struct nmx_rail_conf *c, struct fi_info **out)
{
	struct fi_info *h = wish(provider, c->domain);
	if (!h)
		return -ENOMEM;
	uint64_t flags = c->source ? FI_SOURCE : 0;
	int r = fi_getinfo(FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION), c->source, NULL, flags, h, out);
	fi_freeinfo(h);
	return r;
}

/* libfabric ignores the domain name for tcp (1.17): the list is filtered. */
static void keep_domain(struct fi_info **list, const char *domain)
{
	if (!domain)
		return;
	for (struct fi_info *i = *list; i; i = i->next) {
		if (strcmp(i->domain_attr->name, domain))
			continue;
		struct fi_info *one = fi_dupinfo(i);
		fi_freeinfo(*list);
		*list = one;
		return;
	}
	fi_freeinfo(*list);
	*list = NULL;
}

/* Before 1.18 reliable datagrams over tcp and verbs come from a layer above. */
static int find(struct rail *r, const struct nmx_rail_conf *c)
{
	int ret = ask(c->provider, c, &r->info);
	if (ret == -FI_ENODATA && !strchr(c->provider, ';')) {
		char layered[64];
		snprintf(layered, sizeof layered, "%s;ofi_rxm", c->provider);
		ret = ask(layered, c, &r->info);
	}
	if (ret)
		return ret;
	keep_domain(&r->info, c->domain);
	return r->info ? 0 : -FI_ENODATA;
}

static int open_queue(struct rail *r, bool sleepable)
{
	struct fi_cq_attr a = {.format = FI_CQ_FORMAT_DATA, .size = 2 * OPS_PER_RAIL};
	a.wait_obj = sleepable ? FI_WAIT_FD : FI_WAIT_NONE;
	r->fd = -1;
	int ret = fi_cq_open(r->domain, &a, &r->cq, NULL);
	if (ret && sleepable) { /* shm has no descriptor */
		a.wait_obj = FI_WAIT_NONE;
		return fi_cq_open(r->domain, &a, &r->cq, NULL);
	}
	if (!ret && sleepable && fi_control(&r->cq->fid, FI_GETWAIT, &r->fd))
		r->fd = -1;
	return ret;
}

static int open_scratch(struct rail *r)
{
	uint64_t want;
	struct nmx_key unused;
	if (getrandom(&want, sizeof want, 0) != sizeof want)
		return -EIO;
	return rail_register(r, r->scratch, sizeof r->scratch, want, &r->scratch_mr, &unused);
}

static int make_ops(struct rail *r)
{
	r->ops = calloc(OPS_PER_RAIL, sizeof *r->ops);
	if (!r->ops)
		return -ENOMEM;
	for (int i = 0; i < OPS_PER_RAIL; i++) {
		r->ops[i].next = r->free;
		r->free = &r->ops[i];
	}
	return 0;
}

static uint32_t pages_per_write(const struct fi_info *i)
{
	size_t n = i->tx_attr->rma_iov_limit;
	if (i->tx_attr->iov_limit < n)
		n = i->tx_attr->iov_limit;
	if (n < 1)
		n = 1;
	return n > NMX_MAX_OP_PAGES ? NMX_MAX_OP_PAGES : (uint32_t)n;
}

#define STEP(what, call) \
	do { \
		step = (what); \
		if ((ret = (call))) \
			goto failed; \
	} while (0)

/* Settings that the engine profits from; the user's win. A look at the queue
 * should not stop at one completion (fi_rxm(7)). Read by libfabric at its first
 * call. FI_AV_REMOVE_CLEANUP would close a removed peer's connections, but
 * crashes rxm (1.17 to 2.1) when the peer has closed them before; memory is
 * therefore taken away instead (nmx_unmap). */
static void set_provider_options(void)
{
	setenv("FI_OFI_RXM_COMP_PER_PROGRESS", "64", 0);
}

int rail_open(struct rail *r, const struct nmx_rail_conf *c, bool sleepable, char *err, size_t errlen)
{
	const char *step;
	int ret;
	struct fi_av_attr av = {.type = FI_AV_TABLE};
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, set_provider_options);
	STEP("fi_getinfo", find(r, c));
	STEP("fi_fabric", fi_fabric(r->info->fabric_attr, &r->fabric, NULL));
	STEP("fi_domain", fi_domain(r->fabric, r->info, &r->domain, NULL));
	STEP("fi_cq_open", open_queue(r, sleepable));
	STEP("fi_av_open", fi_av_open(r->domain, &av, &r->av, NULL));
	STEP("fi_endpoint", fi_endpoint(r->domain, r->info, &r->ep, NULL));
	STEP("fi_ep_bind cq", fi_ep_bind(r->ep, &r->cq->fid, FI_TRANSMIT | FI_RECV));
	STEP("fi_ep_bind av", fi_ep_bind(r->ep, &r->av->fid, 0));
	STEP("fi_enable", fi_enable(r->ep));
	STEP("fi_mr_reg", open_scratch(r));
	STEP("memory", make_ops(r));
	r->iov_limit = pages_per_write(r->info);
	return 0;
failed:
	snprintf(err, errlen, "%s: provider %s, source %s, domain %s: %s", step, c->provider,
		 c->source ? c->source : "any", c->domain ? c->domain : "any", fi_strerror(-ret));
	return ret;
}

#define CLOSE(f) \
	do { \
		if (f) \
			fi_close(&(f)->fid); \
		(f) = NULL; \
	} while (0)

/* Up to 1.17 tcp reports a remote write that it breaks off with a context of
 * NULL, and rxm reads through it: closing an endpoint in the middle of an
 * incoming write ends the process (seen with 1.17.0; tcp below 1.18 always comes
 * with rxm). */
bool rail_crashes_on_close(const struct rail *r)
{
	return r->info && !strncmp(r->info->fabric_attr->prov_name, "tcp;", 4) && FI_VERSION_LT(fi_version(), FI_VERSION(1, 18));
}

void rail_close(struct rail *r)
{
	CLOSE(r->ep);
	CLOSE(r->cq);
	CLOSE(r->av);
	CLOSE(r->scratch_mr);
	CLOSE(r->domain);
	CLOSE(r->fabric);
	if (r->info)
		fi_freeinfo(r->info);
	r->info = NULL;
	free(r->ops);
	r->ops = NULL;
}

int rail_register(struct rail *r, void *base, uint64_t len, uint64_t want, struct fid_mr **mr, struct nmx_key *key)
{
	size_t width = r->info->domain_attr->mr_key_size;
	if (width > 0 && width < 8)
		want &= (1ull << (8 * width)) - 1;
	int ret = fi_mr_reg(r->domain, base, len, FI_WRITE | FI_REMOTE_WRITE | FI_SEND | FI_RECV, 0, want, 0, mr, NULL);
	if (ret)
		return ret;
	key->base = r->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t)base : 0;
	key->key = fi_mr_key(*mr);
	return 0;
}
