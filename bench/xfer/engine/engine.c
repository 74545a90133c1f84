/* The caller's side: open, register, peers, transfers, events. Everything that
 * touches libfabric is handed to the group's worker as a command. */
#include "internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

static void init_lock(pthread_mutex_t *m, pthread_cond_t *c)
{
	pthread_condattr_t a;
	pthread_condattr_init(&a);
	pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
	pthread_mutex_init(m, NULL);
	pthread_cond_init(c, &a);
	pthread_condattr_destroy(&a);
}

static int group_open(struct group *g, nmx_engine *e, const struct nmx_conf *c, uint32_t index, char *err, size_t errlen)
{
	g->e = e;
	g->index = index;
	g->rails = c->rails;
	g->cpu = c->cpu && !(c->ablate & NMX_NO_PIN) ? c->cpu[index] : -1;
	g->inbox_end = &g->inbox;
	g->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (g->wake < 0)
		return -errno;
	for (uint32_t i = 0; i < g->rails; i++) {
		g->rail[i].index = i;
		int ret = rail_open(&g->rail[i], &c->rail[index * c->rails + i], c->waiting != NMX_SPIN, err, errlen);
		if (ret)
			return ret;
	}
	int ret = pthread_create(&g->thread, NULL, worker_main, g);
	g->started = ret == 0;
	return -ret;
}

static void free_events_of(struct group *g)
{
	while (g->alive) {
		struct tx *t = g->alive;
		g->alive = t->older;
		free((void *)t->d.src), free((void *)t->d.dst), free((void *)t->d.len), free((void *)t->d.keys), free(t);
	}
	for (int i = 0; i < TAGS; i++)
		rx_free(atomic_load(&g->tag[i]));
}

static void group_close(struct group *g)
{
	if (g->started) {
		atomic_store(&g->stop, true);
		eventfd_write(g->wake, 1);
		pthread_join(g->thread, NULL);
	}
	if (g->unclean && rail_crashes_on_close(&g->rail[0])) {
		/* Nobody makes progress any more, so nothing is written; what the
		 * provider holds stays until the process ends. */
		for (uint32_t i = 0; i < g->rails; i++)
			g->rail[i] = (struct rail){.fd = -1, .ops = g->rail[i].ops};
		memset(g->region, 0, sizeof g->region);
	}
	for (uint32_t i = 0; i < g->rails; i++) /* endpoints first: nothing writes any more */
		if (g->rail[i].ep)
			fi_close(&g->rail[i].ep->fid), g->rail[i].ep = NULL;
	for (int i = 0; i < NMX_MAX_REGIONS; i++)
		for (uint32_t r = 0; r < g->rails; r++)
			if (g->region[i].mr[r])
				fi_close(&g->region[i].mr[r]->fid);
	for (uint32_t i = 0; i < g->rails; i++)
		rail_close(&g->rail[i]);
	free_events_of(g);
	if (g->wake > 0)
		close(g->wake);
	pthread_mutex_destroy(&g->lock);
	pthread_cond_destroy(&g->finished);
}

static int valid(const struct nmx_conf *c)
{
	return c->groups > 0 && c->groups <= NMX_MAX_GROUPS && c->rails > 0 && c->rails <= NMX_MAX_RAILS && c->depth > 0 &&
	       c->depth <= OPS_PER_RAIL && c->batch > 0 && c->waiting <= NMX_ADAPTIVE;
}

int nmx_open(const struct nmx_conf *c, nmx_engine **out, char *err, size_t errlen)
{
	if (!valid(c)) {
		snprintf(err, errlen, "groups, rails, depth, batch or waiting out of range");
		return -EINVAL;
	}
	nmx_engine *e = calloc(1, sizeof *e);
	struct group *g = calloc(c->groups, sizeof *g);
	if (!e || !g) {
		free(e);
		free(g);
		return -ENOMEM;
	}
	e->conf = *c;
	e->group = g;
	init_lock(&e->lock, &e->ready);
	for (; e->groups < c->groups; e->groups++) {
		init_lock(&g[e->groups].lock, &g[e->groups].finished);
		int ret = group_open(&g[e->groups], e, c, e->groups, err, errlen);
		if (ret) {
			e->groups++;
			nmx_close(e);
			return ret;
		}
	}
	e->conf.rail = NULL; /* the caller's */
	e->conf.cpu = NULL;
	*out = e;
	return 0;
}

void nmx_close(nmx_engine *e)
{
	for (uint32_t i = 0; i < e->groups; i++)
		group_close(&e->group[i]);
	pthread_mutex_destroy(&e->lock);
	pthread_cond_destroy(&e->ready);
	free(e->event);
	free(e->group);
	free(e);
}

int nmx_rail(nmx_engine *e, uint32_t group, uint32_t rail, struct nmx_rail_info *out)
{
	if (group >= e->groups || rail >= e->group[group].rails)
		return -EINVAL;
	struct rail *r = &e->group[group].rail[rail];
	memset(out, 0, sizeof *out);
	snprintf(out->provider, sizeof out->provider, "%s", r->info->fabric_attr->prov_name);
	snprintf(out->fabric, sizeof out->fabric, "%s", r->info->fabric_attr->name);
	snprintf(out->domain, sizeof out->domain, "%s", r->info->domain_attr->name);
	out->iov_limit = r->iov_limit;
	out->warm.base = r->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t)r->scratch : 0;
	out->warm.key = fi_mr_key(r->scratch_mr);
	size_t len = sizeof out->addr;
	int ret = fi_getname(&r->ep->fid, out->addr, &len);
	out->addr_len = (uint32_t)len;
	return ret;
}

struct registration {
	void *base;
	uint64_t len;
	const uint64_t *want;
	struct nmx_key *keys;
	uint32_t id;
};

static void drop_region(struct group *g, struct region *r)
{
	for (uint32_t i = 0; i < g->rails; i++)
		if (r->mr[i])
			fi_close(&r->mr[i]->fid);
	memset(r, 0, sizeof *r);
}

static void do_register(struct group *g, struct cmd *c)
{
	struct registration *a = c->arg;
	uint32_t id = 0;
	while (id < NMX_MAX_REGIONS && g->region[id].len)
		id++;
	if (id == NMX_MAX_REGIONS) {
		c->result = -ENOSPC;
		return;
	}
	struct region *r = &g->region[id];
	r->base = a->base;
	r->len = a->len;
	for (uint32_t i = 0; i < g->rails && !c->result; i++)
		c->result = rail_register(&g->rail[i], a->base, a->len, a->want[i], &r->mr[i], &a->keys[i]);
	if (c->result)
		drop_region(g, r);
	a->id = id;
}

int nmx_register(nmx_engine *e, uint32_t group, void *base, uint64_t len, const uint64_t *want, uint32_t *region, struct nmx_key *keys)
{
	if (group >= e->groups || !base || !len)
		return -EINVAL;
	struct registration a = {base, len, want, keys, 0};
	int ret = group_call(&e->group[group], do_register, &a);
	*region = a.id;
	return ret;
}

static void do_unregister(struct group *g, struct cmd *c)
{
	uint32_t id = *(uint32_t *)c->arg;
	for (struct tx *t = g->alive; t; t = t->older)
		if (t->d.region == id && t->status == 0)
			c->result = -EBUSY;
	if (!c->result)
		drop_region(g, &g->region[id]);
}

int nmx_unregister(nmx_engine *e, uint32_t group, uint32_t region)
{
	if (group >= e->groups || region >= NMX_MAX_REGIONS)
		return -EINVAL;
	return group_call(&e->group[group], do_unregister, &region);
}

/* A peer that is in the middle of a write over tcp can go on with it after the
 * region is gone from the provider's table. So the pages are given back and the
 * addresses are never used again: such a write fails with EFAULT. */
int nmx_unmap(void *base, uint64_t len)
{
	void *p = mmap(base, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
	return p == MAP_FAILED ? -errno : 0;
}

int nmx_counters(nmx_engine *e, uint32_t group, struct nmx_counters *out)
{
	if (group >= e->groups)
		return -EINVAL;
	const uint64_t *from = (const uint64_t *)&e->group[group].count;
	uint64_t *to = (uint64_t *)out;
	for (size_t i = 0; i < sizeof *out / sizeof *to; i++)
		to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
	return 0;
}

void event_push(nmx_engine *e, const struct nmx_event *ev)
{
	pthread_mutex_lock(&e->lock);
	if (e->events == e->capacity) {
		size_t n = e->capacity ? 2 * e->capacity : 64;
		struct nmx_event *p = realloc(e->event, n * sizeof *p);
		if (!p)
			abort(); /* an event lost is a transfer that never ends */
		e->event = p;
		e->capacity = n;
	}
	e->event[e->events++] = *ev;
	pthread_cond_signal(&e->ready);
	pthread_mutex_unlock(&e->lock);
}

int nmx_wait(nmx_engine *e, struct nmx_event *out, int max, int timeout_ms)
{
	uint64_t end = nmx_now() + (uint64_t)timeout_ms * 1000000u;
	struct timespec t = {(time_t)(end / 1000000000u), (long)(end % 1000000000u)};
	pthread_mutex_lock(&e->lock);
	while (!e->events && pthread_cond_timedwait(&e->ready, &e->lock, &t) == 0)
		;
	int n = e->events < (size_t)max ? (int)e->events : max;
	if (n) {
		memcpy(out, e->event, (size_t)n * sizeof *out);
		e->events -= (size_t)n;
		memmove(e->event, e->event + n, e->events * sizeof *out);
	}
	pthread_mutex_unlock(&e->lock);
	return n;
}

uint64_t nmx_bucket_ns(uint32_t b)
{ /* 16 buckets an octave, as in HdrHistogram */
	if (b < 16)
		return b;
	uint32_t octave = b / 16 - 1;
	return ((uint64_t)(16 + b % 16 + 1) << octave) - 1;
}
