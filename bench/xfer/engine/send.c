/* Sending: transfers wait in their peer's queue, and every rail takes the next
 * pages when it has room, so that a slow rail gets less. A peer whose queue in
 * the provider is full (-FI_EAGAIN) is passed over until the next poll. */
#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void *copy(const void *p, size_t n)
{
	void *q = p ? malloc(n) : NULL;
	return q ? memcpy(q, p, n) : NULL;
}

void tx_free(struct tx *t)
{
	free((void *)t->d.src);
	free((void *)t->d.dst);
	free((void *)t->d.len);
	free((void *)t->d.keys);
	free(t);
}

static uint64_t bytes_of(const struct nmx_tx *d, uint32_t k)
{
	return d->len ? d->len[k] : d->page_size;
}

static void report(struct group *g, struct tx *t)
{
	if (t->reported)
		return;
	t->reported = true;
	event_push(g->e, &(struct nmx_event){.id = t->d.id, .bytes = t->bytes, .digest = t->digest, .start_ns = t->start_ns,
		.end_ns = nmx_now(), .kind = NMX_TX_DONE, .status = t->status, .group = g->index, .tag = t->d.tag});
}

static void dequeue(struct group *g, struct tx *t)
{
	struct peer *p = &g->peer[t->d.peer];
	for (struct tx **at = &p->head, *last = NULL; *at; last = *at, at = &(*at)->next) {
		if (*at != t)
			continue;
		*at = t->next;
		if (p->tail == t)
			p->tail = last;
		return;
	}
}

static void settle(struct group *g, struct tx *t)
{
	if (t->status == 0 && t->next_page < t->d.pages)
		return;
	if (t->status || t->outstanding == 0)
		report(g, t);
	if (t->outstanding)
		return;
	*(t->newer ? &t->newer->older : &g->alive) = t->older;
	if (t->older)
		t->older->newer = t->newer;
	tx_free(t);
}

static void fail_tx(struct group *g, struct tx *t, int status)
{
	if (t->status == 0)
		t->status = status;
	g->unclean = true;
	if (t->next_page < t->d.pages) {
		t->next_page = t->d.pages;
		dequeue(g, t);
	}
	settle(g, t);
}

/* Every page must lie in the region: an offset is never trusted. */
static int check(const struct group *g, const struct nmx_tx *d)
{
	if (d->region >= NMX_MAX_REGIONS || !g->region[d->region].len || d->peer >= NMX_MAX_PEERS || !g->peer[d->peer].used)
		return -EINVAL;
	uint64_t size = g->region[d->region].len;
	for (uint32_t k = 0; k < d->pages; k++)
		if (bytes_of(d, k) == 0 || bytes_of(d, k) > size || d->src[k] > size - bytes_of(d, k))
			return -ERANGE;
	return 0;
}

void send_start(struct group *g, struct tx *t)
{
	struct peer *p = &g->peer[t->d.peer];
	t->start_ns = nmx_now();
	t->home = g->transfers++ % g->rails;
	t->older = g->alive;
	if (g->alive)
		g->alive->newer = t;
	g->alive = t;
	t->status = check(g, &t->d);
	if (t->status) {
		t->next_page = t->d.pages;
		settle(g, t);
		return;
	}
	*(p->head ? &p->tail->next : &p->head) = t;
	p->tail = t;
}

static void do_send(struct group *g, struct cmd *c) { send_start(g, c->arg); }

int nmx_send(nmx_engine *e, uint32_t group, const struct nmx_tx *d)
{
	if (group >= e->groups || d->pages == 0 || d->pages > NMX_MAX_PAGES || d->peer >= NMX_MAX_PEERS || d->region >= NMX_MAX_REGIONS)
		return -EINVAL;
	struct group *g = &e->group[group];
	struct tx *t = calloc(1, sizeof *t);
	if (!t)
		return -ENOMEM;
	t->d = *d;
	t->d.src = copy(d->src, d->pages * sizeof *d->src);
	t->d.dst = copy(d->dst, d->pages * sizeof *d->dst);
	t->d.len = copy(d->len, d->pages * sizeof *d->len);
	t->d.keys = copy(d->keys, g->rails * sizeof *d->keys);
	if (!t->d.src || !t->d.dst || !t->d.keys || (d->len && !t->d.len)) {
		tx_free(t);
		return -ENOMEM;
	}
	int ret = group_post(g, do_send, t);
	if (ret)
		tx_free(t);
	return ret;
}

/* A write under construction: up to iov_limit pieces, adjacent pages in one. */
struct batch {
	struct iovec iov[NMX_MAX_OP_PAGES];
	struct fi_rma_iov rma[NMX_MAX_OP_PAGES];
	void *desc[NMX_MAX_OP_PAGES];
	size_t pieces;
	uint32_t pages;
	uint64_t bytes;
};

static bool adjacent(const struct batch *b, const void *from, uint64_t to)
{
	if (!b->pieces)
		return false;
	const struct iovec *i = &b->iov[b->pieces - 1];
	const struct fi_rma_iov *r = &b->rma[b->pieces - 1];
	return (char *)i->iov_base + i->iov_len == from && r->addr + r->len == to;
}

static void add(struct batch *b, void *from, uint64_t to, uint64_t key, void *desc, uint64_t len)
{
	if (adjacent(b, from, to)) {
		b->iov[b->pieces - 1].iov_len += len;
		b->rma[b->pieces - 1].len += len;
	} else {
		b->iov[b->pieces] = (struct iovec){from, len};
		b->rma[b->pieces] = (struct fi_rma_iov){to, len, key};
		b->desc[b->pieces++] = desc;
	}
	b->pages++;
	b->bytes += len;
}

static void gather(struct group *g, struct rail *r, struct tx *t, struct batch *b)
{
	const struct nmx_conf *c = &g->e->conf;
	struct region *from = &g->region[t->d.region];
	const struct nmx_key *key = &t->d.keys[r->index];
	uint32_t most = c->ablate & NMX_NO_COALESCE ? 1 : NMX_MAX_OP_PAGES;
	for (uint32_t k = t->next_page; k < t->d.pages && b->pages < most; k++) {
		uint64_t len = bytes_of(&t->d, k), to = key->base + t->d.dst[k];
		char *page = from->base + t->d.src[k];
		if (b->pages && (b->bytes + len > c->coalesce || (b->pieces == r->iov_limit && !adjacent(b, page, to))))
			break;
		add(b, page, to, key->key, fi_mr_desc(from->mr[r->index]), len);
	}
}

static void prepare(struct tx *t, const struct region *from, uint32_t pages)
{
	for (uint32_t k = t->next_page; k < t->next_page + pages; k++) {
		char *page = from->base + t->d.src[k];
		uint64_t len = bytes_of(&t->d, k);
		if (t->d.flags & NMX_STAMP)
			nmx_stamp(page, len, t->d.seed, k);
		if (t->d.flags & NMX_SUM) {
			uint64_t h = t->d.flags & NMX_STAMP ? nmx_body_hash(page, len) : nmx_hash(page, len);
			t->digest += nmx_mix(h ^ nmx_mix(t->d.seed + k));
		}
	}
}

/* A hash is taken once, though a refused write is prepared again. */
static int post(struct group *g, struct rail *r, struct tx *t)
{
	struct batch b = {.pieces = 0};
	struct op *op = r->free;
	struct peer *p = &g->peer[t->d.peer];
	uint64_t digest = t->digest;
	gather(g, r, t, &b);
	prepare(t, &g->region[t->d.region], b.pages);
	struct fi_msg_rma m = {.msg_iov = b.iov, .desc = b.desc, .iov_count = b.pieces, .addr = p->addr[r->index],
		.rma_iov = b.rma, .rma_iov_count = b.pieces, .context = op, .data = IMM(t->d.tag, b.pages, t->next_page)};
	ssize_t ret = fi_writemsg(r->ep, &m, FI_REMOTE_CQ_DATA | FI_COMPLETION);
	if (ret) {
		t->digest = digest;
		return (int)ret;
	}
	r->free = op->next;
	op->tx = t;
	op->bytes = b.bytes;
	op->pages = b.pages;
	op->peer = t->d.peer;
	r->under_way++;
	p->out[r->index]++;
	p->out_bytes[r->index] += b.bytes;
	t->outstanding++;
	t->next_page += b.pages;
	if (t->next_page == t->d.pages)
		dequeue(g, t);
	return 0;
}

static struct tx *next_tx(struct group *g, struct rail *r, uint32_t peer)
{
	struct tx *t = g->peer[peer].head;
	if (g->e->conf.ablate & NMX_NO_STRIPE)
		while (t && t->home != r->index)
			t = t->next;
	return t;
}

/* A rail that held much would starve its neighbours at the end of what is
 * offered: pages wait in our queue, not in a slow rail's. */
static bool has_room(const struct group *g, const struct rail *r, const struct peer *p)
{
	uint32_t out = p->out[r->index];
	return r->free && out < g->e->conf.depth && (out < 2 || p->out_bytes[r->index] < g->e->conf.window);
}

static int send_to(struct group *g, struct rail *r, uint32_t peer, uint32_t most)
{
	uint32_t n = 0;
	struct peer *p = &g->peer[peer];
	while (n < most && has_room(g, r, p)) {
		struct tx *t = next_tx(g, r, peer);
		if (!t)
			break;
		int ret = post(g, r, t);
		if (ret == -FI_EAGAIN) {
			bump(&g->count.again, 1);
			break;
		}
		if (ret)
			send_fail_peer(g, peer, ret);
		n++;
	}
	return (int)n;
}

int send_some(struct group *g, struct rail *r)
{
	uint32_t ablate = g->e->conf.ablate;
	int n = 0, most = ablate & NMX_NO_BATCH ? 1 : ablate & NMX_EAGER ? OPS_PER_RAIL : (int)g->e->conf.batch;
	if (!g->alive)
		return 0;
	for (uint32_t i = 0; i < g->peers && n < most; i++) {
		uint32_t peer = (r->next_peer + i) % g->peers;
		if (g->peer[peer].head)
			n += send_to(g, r, peer, (uint32_t)(most - n));
	}
	r->next_peer = g->peers ? (r->next_peer + 1) % g->peers : 0;
	return n;
}

static void warm_completed(struct group *g, struct rail *r, uint32_t peer, int status)
{
	int posted = WARM_POSTED;
	if (atomic_compare_exchange_strong(&g->peer[peer].warmth[r->index], &posted, status ? status : WARM_DONE))
		atomic_fetch_sub(&g->warming, 1);
}

void send_completed(struct group *g, struct rail *r, struct op *op, int status)
{
	struct tx *t = op->tx;
	op->tx = NULL;
	op->next = r->free;
	r->free = op;
	r->under_way--;
	g->peer[op->peer].out[r->index]--;
	g->peer[op->peer].out_bytes[r->index] -= op->bytes;
	if (!t) {
		warm_completed(g, r, op->peer, status);
		return;
	}
	t->outstanding--;
	if (status) {
		uint32_t peer = t->d.peer;
		fail_tx(g, t, status);
		send_fail_peer(g, peer, status);
		return;
	}
	t->bytes += op->bytes;
	bump(&g->count.tx_bytes[r->index], op->bytes);
	bump(&g->count.tx_ops, 1);
	bump(&g->count.tx_pages, op->pages);
	settle(g, t);
}

void send_fail_peer(struct group *g, uint32_t peer, int status)
{
	for (struct tx *t = g->alive, *older; t; t = older) {
		older = t->older;
		if (t->d.peer == peer)
			fail_tx(g, t, status);
	}
}

void send_fail_id(struct group *g, uint64_t id, int status)
{
	for (struct tx *t = g->alive, *older; t; t = older) {
		older = t->older;
		if (t->d.id == id)
			fail_tx(g, t, status);
	}
}

void send_warmups(struct group *g, struct rail *r)
{
	for (uint32_t i = 0; i < g->peers; i++) {
		struct peer *p = &g->peer[i];
		struct op *op = r->free;
		if (!p->used || !op || atomic_load(&p->warmth[r->index]) != WARM_WANTED)
			continue;
		ssize_t ret = fi_write(r->ep, r->scratch, 8, fi_mr_desc(r->scratch_mr), p->addr[r->index],
				       p->warm[r->index].base, p->warm[r->index].key, op);
		if (ret == -FI_EAGAIN)
			continue;
		atomic_store(&p->warmth[r->index], ret ? (int)ret : WARM_POSTED);
		if (ret) {
			atomic_fetch_sub(&g->warming, 1);
			continue;
		}
		r->free = op->next;
		op->tx = NULL;
		op->bytes = 0;
		op->peer = i;
		r->under_way++;
		p->out[r->index]++;
	}
}
