/* The engine's own check, in one process, so that sanitizers see all of it:
 * two engines exchange random pages of random sizes in both directions over
 * loopback or shared memory, every page verified, and then what must fail is
 * shown to fail.
 *
 *   nmx-check [-p provider] [-a address] [-n pages] [-s seed] [-r rails] [-w spin|wait|adaptive]
 */
#include "nmx.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define POOL (64u << 20)
#define HALF (POOL / 2) /* sources below, destinations above */
#define MOST 2048       /* pages of a transfer */
#define SLOT 16384
#define LANES 2         /* transfers at once, each way */

struct side {
	nmx_engine *e;
	char *pool;
	uint32_t region, peer;
	struct nmx_key keys[NMX_MAX_RAILS];
	struct nmx_rail_info info[NMX_MAX_RAILS];
};

struct plan {
	uint64_t src[MOST], dst[MOST], expect[MOST];
	uint32_t len[MOST], pages;
};

static const char *provider = "tcp", *address = "127.0.0.1";
static uint64_t pages_wanted = 20000, seed = 1, rng;
static uint32_t rails = 2, waiting = NMX_ADAPTIVE;

static uint64_t next(void) { return rng = nmx_mix(rng); }

static void die(const char *what, int ret)
{
	fprintf(stderr, "nmx-check: %s: %s (%d)\n", what, strerror(ret < 0 ? -ret : ret), ret);
	exit(1);
}

static void must(const char *what, int ret)
{
	if (ret)
		die(what, ret);
}

static void side_open(struct side *s, uint64_t fill)
{
	char err[256] = "";
	struct nmx_rail_conf rail[NMX_MAX_RAILS];
	uint64_t want[NMX_MAX_RAILS];
	for (uint32_t i = 0; i < rails; i++) {
		rail[i] = (struct nmx_rail_conf){provider, *address ? address : NULL, NULL};
		want[i] = next();
	}
	struct nmx_conf c = {.groups = 1, .rails = rails, .rail = rail, .waiting = waiting, .depth = 16, .window = 512 << 10, .batch = 16,
		.coalesce = 128 << 10, .nap_us = 1000};
	if (nmx_open(&c, &s->e, err, sizeof err))
		die(err, -EIO);
	if (posix_memalign((void **)&s->pool, 4096, POOL))
		die("memory", -ENOMEM);
	nmx_fill(s->pool, POOL, fill, 0);
	must("register", nmx_register(s->e, 0, s->pool, POOL, want, &s->region, s->keys));
	for (uint32_t i = 0; i < rails; i++)
		must("rail", nmx_rail(s->e, 0, i, &s->info[i]));
}

static void side_meet(struct side *s, const struct side *o)
{
	uint8_t addrs[NMX_MAX_RAILS][NMX_ADDR_MAX];
	uint32_t lens[NMX_MAX_RAILS];
	struct nmx_key warm[NMX_MAX_RAILS];
	for (uint32_t i = 0; i < rails; i++) {
		memcpy(addrs[i], o->info[i].addr, NMX_ADDR_MAX);
		lens[i] = o->info[i].addr_len;
		warm[i] = o->info[i].warm;
	}
	must("peer", nmx_peer_add(s->e, 0, addrs[0], lens, warm, 20000, &s->peer));
}

static void side_close(struct side *s)
{
	nmx_close(s->e);
	free(s->pool);
}

/* Pages in random order, of random sizes, at random places of their slots. */
static void make_plan(struct plan *p, const struct side *from, uint32_t lane)
{
	static uint32_t order[MOST];
	uint32_t slots = HALF / SLOT / LANES;
	if (slots > MOST)
		slots = MOST;
	p->pages = 1 + (uint32_t)(next() % slots);
	for (uint32_t i = 0; i < slots; i++) {
		uint32_t j = (uint32_t)(next() % (i + 1));
		order[i] = order[j];
		order[j] = i;
	}
	for (uint32_t k = 0; k < p->pages; k++) {
		uint64_t base = (uint64_t)lane * (HALF / LANES);
		p->len[k] = next() % 4 ? 4096 : 1 + (uint32_t)(next() % (SLOT / 2));
		p->src[k] = base + (uint64_t)k * SLOT + next() % (SLOT - p->len[k]);
		p->dst[k] = HALF + base + (uint64_t)order[k] * SLOT + next() % (SLOT - p->len[k]);
		p->expect[k] = nmx_body_hash(from->pool + p->src[k], p->len[k]);
	}
}

static void start(struct side *from, struct side *to, struct plan *p, uint32_t lane, uint64_t id)
{
	uint8_t tag;
	uint64_t s = next();
	make_plan(p, from, lane);
	struct nmx_rx rx = {.id = id, .seed = s, .region = to->region, .pages = p->pages, .flags = NMX_STAMP | NMX_SUM,
		.dst = p->dst, .len = p->len, .expect = p->expect};
	must("expect", nmx_expect(to->e, 0, &rx, &tag));
	struct nmx_tx tx = {.id = id, .seed = s, .region = from->region, .peer = from->peer, .pages = p->pages,
		.flags = NMX_STAMP | NMX_SUM, .tag = tag, .src = p->src, .dst = p->dst, .len = p->len, .keys = to->keys};
	must("send", nmx_send(from->e, 0, &tx));
}

static uint64_t await(struct side *s, int kind, uint64_t id, int status)
{
	struct nmx_event ev;
	for (uint64_t end = nmx_now() + 30000000000u; nmx_now() < end;) {
		if (nmx_wait(s->e, &ev, 1, 1000) == 0)
			continue;
		if (ev.id != id || ev.kind != kind || ev.status != status || ev.bad_pages) {
			fprintf(stderr, "nmx-check: event id %llu kind %d status %d bad %u (first %u), wanted id %llu kind %d status %d\n",
				(unsigned long long)ev.id, ev.kind, ev.status, ev.bad_pages, ev.first_bad, (unsigned long long)id, kind, status);
			exit(1);
		}
		return ev.digest;
	}
	die("no event for 30 s", -ETIMEDOUT);
	return 0;
}

static void exchange(struct side *a, struct side *b)
{
	static struct plan plan;
	uint64_t moved = 0, bytes0 = nmx_now();
	for (uint64_t round = 0; moved < pages_wanted; round++) {
		uint32_t lane = round % LANES;
		start(a, b, &plan, lane, 2 * round);
		moved += plan.pages;
		start(b, a, &plan, lane, 2 * round + 1);
		moved += plan.pages;
		/* each engine hears of one send and one receipt, in any order */
		struct nmx_event ev[2][2];
		struct side *s[2] = {a, b};
		for (int i = 0; i < 2; i++)
			for (int got = 0; got < 2; got++)
				while (nmx_wait(s[i]->e, &ev[i][got], 1, 1000) == 0)
					if (nmx_now() - bytes0 > 600000000000u)
						die("no event", -ETIMEDOUT);
		for (int i = 0; i < 2; i++)
			for (int j = 0; j < 2; j++)
				if (ev[i][j].status || ev[i][j].bad_pages)
					die("a page is wrong", -EBADMSG);
	}
	printf("exchanged %llu pages in both directions, every one verified, %.2f s\n", (unsigned long long)moved,
	       (double)(nmx_now() - bytes0) / 1e9);
}

/* A wrong byte anywhere must be seen. */
static void corruption(struct side *a, struct side *b)
{
	uint64_t src = 0, dst = HALF, expect = nmx_body_hash(a->pool, 4096);
	uint8_t tag;
	struct nmx_event ev;
	a->pool[1234] ^= 1;
	struct nmx_rx rx = {.id = 7, .seed = 9, .region = b->region, .pages = 1, .page_size = 4096, .flags = NMX_STAMP | NMX_SUM,
		.dst = &dst, .expect = &expect};
	must("expect", nmx_expect(b->e, 0, &rx, &tag));
	struct nmx_tx tx = {.id = 7, .seed = 9, .region = a->region, .peer = a->peer, .pages = 1, .page_size = 4096,
		.flags = NMX_STAMP, .tag = tag, .src = &src, .dst = &dst, .keys = b->keys};
	must("send", nmx_send(a->e, 0, &tx));
	await(a, NMX_TX_DONE, 7, 0);
	while (nmx_wait(b->e, &ev, 1, 1000) == 0)
		;
	if (ev.bad_pages != 1)
		die("a flipped bit went unseen", -EBADMSG);
	a->pool[1234] ^= 1;
	printf("a flipped bit is seen\n");
}

static void refusals(struct side *a, struct side *b)
{
	uint64_t src = 0, dst = POOL - 100;
	uint8_t tag;
	struct nmx_rx rx = {.id = 8, .region = b->region, .pages = 1, .page_size = 4096, .dst = &dst};
	if (nmx_expect(b->e, 0, &rx, &tag) != -ERANGE)
		die("a destination beyond the region was taken", -EINVAL);
	src = ~0ull - 50;
	struct nmx_tx tx = {.id = 8, .region = a->region, .peer = a->peer, .pages = 1, .page_size = 4096, .src = &src, .dst = &dst,
		.keys = b->keys};
	must("send", nmx_send(a->e, 0, &tx));
	await(a, NMX_TX_DONE, 8, -ERANGE);
	printf("offsets outside a region are refused\n");
}

static void cancellation(struct side *b)
{
	uint64_t dst = HALF;
	uint8_t tag;
	struct nmx_rx rx = {.id = 10, .region = b->region, .pages = 1, .page_size = 4096, .dst = &dst};
	must("expect", nmx_expect(b->e, 0, &rx, &tag));
	must("cancel", nmx_cancel(b->e, 0, 10));
	await(b, NMX_RX_DONE, 10, -ECANCELED);
	printf("a receipt can be cancelled\n");
}

/* Last: a peer that writes where it may not loses its connection, we lose nothing. */
static void hostile(struct side *a, struct side *b)
{
	struct nmx_key keys[NMX_MAX_RAILS];
	struct nmx_counters c;
	struct nmx_event ev;
	uint64_t src = 0, dst = HALF;
	uint64_t before = nmx_hash(b->pool, POOL);
	memcpy(keys, b->keys, sizeof keys);
	for (uint32_t i = 0; i < rails; i++)
		keys[i].base += POOL - HALF - 100; /* ends 3,996 bytes beyond */
	struct nmx_tx tx = {.id = 11, .region = a->region, .peer = a->peer, .pages = 1, .page_size = 4096, .src = &src, .dst = &dst,
		.keys = keys};
	must("send", nmx_send(a->e, 0, &tx));
	nmx_wait(a->e, &ev, 1, 2000);
	usleep(200000);
	must("counters", nmx_counters(b->e, 0, &c));
	if (nmx_hash(b->pool, POOL) != before)
		die("a write beyond the region changed it", -EFAULT);
	printf("a write beyond the region changed nothing (strays %llu)\n", (unsigned long long)c.stray);
}

int main(int argc, char **argv)
{
	static struct side a, b;
	for (int o; (o = getopt(argc, argv, "p:a:n:s:r:w:")) != -1;) {
		switch (o) {
		case 'p': provider = optarg; break;
		case 'a': address = optarg; break;
		case 'n': pages_wanted = strtoull(optarg, NULL, 10); break;
		case 's': seed = strtoull(optarg, NULL, 10); break;
		case 'r': rails = (uint32_t)strtoul(optarg, NULL, 10); break;
		case 'w': waiting = *optarg == 's' ? NMX_SPIN : *optarg == 'w' ? NMX_WAIT : NMX_ADAPTIVE; break;
		default: return 2;
		}
	}
	rng = seed;
	side_open(&a, 1);
	side_open(&b, 2);
	printf("%s, %u rails, %u pages a write, seed %llu\n", a.info[0].provider, rails, a.info[0].iov_limit, (unsigned long long)seed);
	side_meet(&a, &b);
	side_meet(&b, &a);
	exchange(&a, &b);
	corruption(&a, &b);
	refusals(&a, &b);
	cancellation(&b);
	hostile(&a, &b);
	side_close(&a);
	side_close(&b);
	return 0;
}
