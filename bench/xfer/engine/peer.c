/* Peers come and go while others transfer. */
#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct arrival {
	const uint8_t *addrs;
	const uint32_t *lens;
	const struct nmx_key *warm;
	uint32_t id;
};

/* A slot is free when no write to its former peer is owed a completion. */
static bool idle(const struct group *g, const struct peer *p)
{
	uint32_t out = 0;
	for (uint32_t i = 0; i < g->rails; i++)
		out += p->out[i];
	return !p->used && !out && !p->head;
}

static int insert(struct group *g, struct peer *p, const struct arrival *a)
{
	for (uint32_t i = 0; i < g->rails; i++) {
		if (a->lens[i] == 0 || a->lens[i] > NMX_ADDR_MAX)
			return -EINVAL;
		int n = fi_av_insert(g->rail[i].av, a->addrs + i * NMX_ADDR_MAX, 1, &p->addr[i], 0, NULL);
		if (n != 1)
			return n < 0 ? n : -FI_EADDRNOTAVAIL;
	}
	return 0;
}

static void do_add(struct group *g, struct cmd *c)
{
	struct arrival *a = c->arg;
	uint32_t id = 0;
	while (id < NMX_MAX_PEERS && !idle(g, &g->peer[id]))
		id++;
	a->id = id;
	c->result = id == NMX_MAX_PEERS ? -ENOSPC : insert(g, &g->peer[id], a);
	if (c->result)
		return;
	struct peer *p = &g->peer[id];
	p->used = true;
	if (id >= g->peers)
		g->peers = id + 1;
	for (uint32_t i = 0; i < g->rails; i++) {
		if (a->warm)
			p->warm[i] = a->warm[i];
		atomic_store(&p->warmth[i], a->warm ? WARM_WANTED : WARM_NONE);
		atomic_fetch_add(&g->warming, a->warm ? 1 : 0);
	}
}

static int warm_state(struct group *g, struct peer *p)
{
	int pending = 0;
	for (uint32_t i = 0; i < g->rails; i++) {
		int w = atomic_load(&p->warmth[i]);
		if (w < 0)
			return w;
		pending += w == WARM_WANTED || w == WARM_POSTED;
	}
	return pending;
}

static int await_warmth(struct group *g, struct peer *p, int timeout_ms)
{
	uint64_t end = nmx_now() + (uint64_t)timeout_ms * 1000000u;
	struct timespec t = {0, 500000};
	int left;
	while ((left = warm_state(g, p)) > 0 && nmx_now() < end)
		nanosleep(&t, NULL);
	return left > 0 ? -ETIMEDOUT : left;
}

int nmx_peer_add(nmx_engine *e, uint32_t group, const uint8_t *addrs, const uint32_t *lens, const struct nmx_key *warm,
		 int timeout_ms, uint32_t *peer)
{
	if (group >= e->groups)
		return -EINVAL;
	struct group *g = &e->group[group];
	struct arrival a = {addrs, lens, e->conf.ablate & NMX_NO_WARMUP ? NULL : warm, 0};
	int ret = group_call(g, do_add, &a);
	if (ret)
		return ret;
	*peer = a.id;
	if (a.warm && (ret = await_warmth(g, &g->peer[a.id], timeout_ms)))
		nmx_peer_remove(e, group, a.id);
	return ret;
}

static void do_remove(struct group *g, struct cmd *c)
{
	uint32_t id = *(uint32_t *)c->arg;
	struct peer *p = &g->peer[id];
	if (!p->used) {
		c->result = -ENOENT;
		return;
	}
	send_fail_peer(g, id, -ECANCELED);
	for (uint32_t i = 0; i < g->rails; i++) {
		int w = atomic_exchange(&p->warmth[i], WARM_NONE);
		if (w == WARM_WANTED || w == WARM_POSTED)
			atomic_fetch_sub(&g->warming, 1);
		fi_av_remove(g->rail[i].av, &p->addr[i], 1, 0);
	}
	p->used = false;
}

int nmx_peer_remove(nmx_engine *e, uint32_t group, uint32_t peer)
{
	if (group >= e->groups || peer >= NMX_MAX_PEERS)
		return -EINVAL;
	return group_call(&e->group[group], do_remove, &peer);
}

static void do_cancel(struct group *g, struct cmd *c)
{
	uint64_t id = *(uint64_t *)c->arg;
	send_fail_id(g, id, -ECANCELED);
	receive_fail_id(g, id, -ECANCELED);
}

int nmx_cancel(nmx_engine *e, uint32_t group, uint64_t id)
{
	if (group >= e->groups)
		return -EINVAL;
	return group_call(&e->group[group], do_cancel, &id);
}
