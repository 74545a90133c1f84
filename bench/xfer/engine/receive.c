/* Receiving: immediates say which pages of which tag have landed. They come
 * from the network and are believed only within what was announced; a page is
 * right when its stamp and hash say so. */
#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void *copy(const void *p, size_t n)
{
	void *q = p ? malloc(n) : NULL;
	return q ? memcpy(q, p, n) : NULL;
}

void rx_free(struct rx *x)
{
	if (!x)
		return;
	free((void *)x->d.dst);
	free((void *)x->d.len);
	free((void *)x->d.expect);
	free(x->seen);
	free(x);
}

static uint64_t bytes_of(const struct rx *x, uint32_t k)
{
	return x->d.len ? x->d.len[k] : x->d.page_size;
}

static uint32_t bucket(uint64_t ns)
{ /* the inverse of nmx_bucket_ns */
	if (ns < 16)
		return (uint32_t)ns;
	uint32_t octave = 59 - (uint32_t)__builtin_clzll(ns);
	uint32_t b = (octave + 1) * 16 + (uint32_t)(ns >> octave & 15);
	return b < NMX_BUCKETS ? b : NMX_BUCKETS - 1;
}

static bool right(const struct rx *x, const char *page, uint64_t len, uint32_t k, uint64_t *hash)
{
	*hash = 0;
	if (x->d.flags & NMX_SUM)
		*hash = x->d.flags & NMX_STAMP ? nmx_body_hash(page, len) : nmx_hash(page, len);
	if (x->d.expect && x->d.expect[k] != *hash)
		return false;
	return !(x->d.flags & NMX_STAMP) || nmx_stamp_ok(page, len, x->d.seed, k);
}

static void land(struct group *g, struct rail *r, struct rx *x, uint32_t k)
{
	uint64_t bit = 1ull << (k % 64), hash, len = bytes_of(x, k);
	if (x->seen[k / 64] & bit) {
		bump(&g->count.duplicate, 1);
		return;
	}
	x->seen[k / 64] |= bit;
	if (!right(x, g->region[x->d.region].base + x->d.dst[k], len, k, &hash)) {
		if (!x->bad++)
			x->first_bad = k;
		bump(&g->count.bad_pages, 1);
	} else {
		bump(&g->count.account[x->d.account], len);
	}
	x->digest += nmx_mix(hash ^ nmx_mix(x->d.seed + k));
	x->bytes += len;
	x->left--;
	bump(&g->count.rx_bytes[r->index], len);
}

static void finish(struct group *g, struct rx *x, int status)
{
	event_push(g->e, &(struct nmx_event){.id = x->d.id, .bytes = x->bytes, .digest = x->digest, .start_ns = x->start_ns,
		.end_ns = nmx_now(), .kind = NMX_RX_DONE, .status = status, .group = g->index, .bad_pages = x->bad,
		.first_bad = x->first_bad, .tag = x->tag});
	g->unclean |= status != 0;
	atomic_store(&g->tag_free_ns[x->tag], status ? nmx_now() + QUARANTINE_NS : 0);
	atomic_store(&g->tag[x->tag], NULL);
	atomic_fetch_sub(&g->receiving, 1);
	rx_free(x);
}

void receive_immediate(struct group *g, struct rail *r, uint32_t imm)
{
	uint32_t tag = imm >> 24, n = (imm >> IMM_PAGE_BITS & 7) + 1, first = imm & ((1u << IMM_PAGE_BITS) - 1);
	struct rx *x = atomic_load_explicit(&g->tag[tag], memory_order_acquire);
	if (!x || first >= x->d.pages || n > x->d.pages - first) {
		bump(&g->count.stray, 1);
		g->unclean = true;
		return;
	}
	for (uint32_t k = first; k < first + n; k++)
		land(g, r, x, k);
	bump(&g->count.rx_ops, 1);
	bump(&g->count.rx_pages, n);
	uint32_t b = bucket(nmx_now() - x->start_ns);
	bump(&g->count.latency[b], n);
	if (!x->left)
		finish(g, x, 0);
}

void receive_fail_id(struct group *g, uint64_t id, int status)
{
	for (int i = 0; i < TAGS; i++) {
		struct rx *x = atomic_load(&g->tag[i]);
		if (x && x->d.id == id)
			finish(g, x, status);
	}
}

static int check(const struct group *g, const struct nmx_rx *d)
{
	uint64_t size = g->region[d->region].len;
	for (uint32_t k = 0; k < d->pages; k++) {
		uint64_t len = d->len ? d->len[k] : d->page_size;
		if (len == 0 || len > size || d->dst[k] > size - len)
			return -ERANGE;
	}
	return d->expect && !(d->flags & NMX_SUM) ? -EINVAL : 0;
}

/* Tags go round, so that a late page meets a tag that is free, not reused. */
static int free_tag(struct group *g)
{
	uint64_t now = nmx_now();
	for (int i = 0; i < TAGS; i++) {
		uint32_t t = g->next_tag++ % TAGS;
		if (!atomic_load(&g->tag[t]) && atomic_load(&g->tag_free_ns[t]) <= now)
			return (int)t;
	}
	return -EAGAIN;
}

int nmx_expect(nmx_engine *e, uint32_t group, const struct nmx_rx *d, uint8_t *tag)
{
	if (group >= e->groups || d->pages == 0 || d->pages > NMX_MAX_PAGES || d->region >= NMX_MAX_REGIONS ||
	    d->account >= NMX_ACCOUNTS)
		return -EINVAL;
	struct group *g = &e->group[group];
	int t, ret = check(g, d);
	if (ret)
		return ret;
	if ((t = free_tag(g)) < 0)
		return t;
	struct rx *x = calloc(1, sizeof *x);
	if (!x)
		return -ENOMEM;
	x->d = *d;
	x->d.dst = copy(d->dst, d->pages * sizeof *d->dst);
	x->d.len = copy(d->len, d->pages * sizeof *d->len);
	x->d.expect = copy(d->expect, d->pages * sizeof *d->expect);
	x->seen = calloc(d->pages / 64 + 1, sizeof *x->seen);
	if (!x->d.dst || !x->seen || (d->len && !x->d.len) || (d->expect && !x->d.expect)) {
		rx_free(x);
		return -ENOMEM;
	}
	x->left = d->pages;
	x->tag = (uint8_t)t;
	x->start_ns = nmx_now();
	*tag = x->tag;
	atomic_fetch_add(&g->receiving, 1);
	atomic_store_explicit(&g->tag[t], x, memory_order_release);
	return 0;
}
