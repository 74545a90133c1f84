/* nmx: moves scattered pages between processes over every rail (NIC) that a
 * group (a GPU, or a NUMA node) owns, with one-sided libfabric writes.
 *
 *   nmx_send ──→ queue of transfers ──→ worker thread ──writes──→ rails ══╗
 *   nmx_expect ─→ table of 256 tags ←── worker thread ←─immediates─ rails ═╝
 *                                            └──→ nmx_wait: events
 *
 * A group has one worker thread, and only that thread touches the group's
 * domains, endpoints and queues (FI_THREAD_DOMAIN). The receiver chooses where
 * pages go: it calls nmx_expect, tells the sender the tag and the destinations
 * by any channel, and counts the pages that arrive by their immediate data, so
 * that its clock, not the sender's, ends a transfer. No call here is made from
 * two threads at once except nmx_wait, nmx_counters and nmx_pages.
 *
 * Functions return 0 or a negative errno (libfabric's where it has its own).
 */
#ifndef NMX_H
#define NMX_H

#include <stddef.h>
#include <stdint.h>

#define NMX_MAX_GROUPS 16
#define NMX_MAX_RAILS 32 /* of one group */
#define NMX_MAX_PEERS 256
#define NMX_MAX_REGIONS 256
#define NMX_ACCOUNTS 64
#define NMX_ADDR_MAX 64           /* bytes of an endpoint's name */
#define NMX_MAX_PAGES (1u << 21)  /* of one transfer */
#define NMX_MAX_OP_PAGES 8

enum nmx_waiting { NMX_SPIN, NMX_WAIT, NMX_ADAPTIVE };

/* What an optimization's absence is worth is measured with these. */
enum nmx_ablation {
	NMX_NO_WARMUP = 1,   /* connect with the first page */
	NMX_NO_PIN = 2,      /* threads float */
	NMX_NO_COALESCE = 4, /* one page a write */
	NMX_NO_BATCH = 8,    /* one write, then poll */
	NMX_EAGER = 16,      /* post before polling, until the provider refuses */
	NMX_NO_STRIPE = 32   /* a transfer stays on one rail */
};

struct nmx_rail_conf {
	const char *provider; /* "tcp", "tcp;ofi_rxm", "shm", "verbs;ofi_rxm", "efa" */
	const char *source;   /* local address the rail is bound to; NULL: any */
	const char *domain;   /* domain name to pick; NULL: first */
};

struct nmx_conf {
	uint32_t groups;
	uint32_t rails; /* of each group */
	const struct nmx_rail_conf *rail; /* groups × rails */
	const int *cpu;                   /* of each group; -1: not pinned; may be NULL */
	uint32_t waiting;                 /* enum nmx_waiting */
	uint32_t depth;                   /* writes under way for each rail and peer */
	uint64_t window;                  /* bytes under way for each rail and peer, at least two writes */
	uint32_t batch;                   /* writes posted between two polls */
	uint64_t coalesce;                /* bytes a write of several pages may have */
	uint32_t ablate;                  /* enum nmx_ablation, or'ed */
	uint32_t nap_us;                  /* longest sleep between looks at a queue */
};

/* A rail's view of a registered region, for the peer that writes into it. */
struct nmx_key { uint64_t base, key; };

/* How a rail came to be: what libfabric chose. */
struct nmx_rail_info {
	char provider[48], fabric[64], domain[64];
	uint32_t iov_limit; /* pages a write can carry */
	uint32_t addr_len;
	uint8_t addr[NMX_ADDR_MAX];
	struct nmx_key warm; /* 8 bytes that peers write to when they connect */
};

enum nmx_flags {
	NMX_STAMP = 1, /* the first and last 8 bytes of every page carry seed and number */
	NMX_SUM = 2    /* hash every page */
};

/* A transfer to send. Page k goes from local offset src[k] to remote offset
 * dst[k]; both are copied by nmx_send. */
struct nmx_tx {
	uint64_t id, seed;
	uint32_t region, peer, pages, page_size, flags;
	uint8_t tag;             /* the receiver's */
	const uint64_t *src, *dst;
	const uint32_t *len;     /* bytes of each page; NULL: page_size */
	const struct nmx_key *keys; /* one for each rail */
};

/* A transfer to receive; arrays are copied. */
struct nmx_rx {
	uint64_t id, seed;
	uint32_t region, pages, page_size, flags, account; /* account: whose bytes, < NMX_ACCOUNTS */
	const uint64_t *dst;
	const uint32_t *len;
	const uint64_t *expect; /* hash of each page's body; NULL: not compared */
};

enum nmx_kind { NMX_TX_DONE = 1, NMX_RX_DONE = 2 };

struct nmx_event {
	uint64_t id;
	uint64_t bytes;     /* moved */
	uint64_t digest;    /* order-free sum over the pages' hashes */
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
	int32_t kind, status;      /* status: 0, -ECANCELED, or the provider's error */
	uint32_t group, bad_pages, first_bad;
	uint8_t tag;
};

#define NMX_BUCKETS 512

struct nmx_counters {
	uint64_t tx_bytes[NMX_MAX_RAILS], rx_bytes[NMX_MAX_RAILS];
	uint64_t tx_ops, rx_ops, tx_pages, rx_pages;
	uint64_t again, stray, duplicate, bad_pages, errors, sleeps, polls;
	uint64_t account[NMX_ACCOUNTS];  /* bytes of right pages */
	uint64_t latency[NMX_BUCKETS];   /* page: from nmx_expect to verified; nmx_bucket_ns */
};

typedef struct nmx_engine nmx_engine;

int nmx_open(const struct nmx_conf *conf, nmx_engine **out, char *err, size_t errlen);
void nmx_close(nmx_engine *e);
int nmx_rail(nmx_engine *e, uint32_t group, uint32_t rail, struct nmx_rail_info *out);
/* Registers memory with every rail of a group; keys receives one for each rail. */
int nmx_register(nmx_engine *e, uint32_t group, void *base, uint64_t len, const uint64_t *want_keys,
		 uint32_t *region, struct nmx_key *keys);
/* Fails with -EBUSY while a transfer from the region is neither done nor failed. */
int nmx_unregister(nmx_engine *e, uint32_t group, uint32_t region);
/* Gives an unregistered region's pages back and keeps its addresses from use. */
int nmx_unmap(void *base, uint64_t len);
/* Adds a peer by the names of its rails (NMX_ADDR_MAX bytes apart). When warm is
 * not NULL (one key for each rail, of 8 writable bytes), every rail is
 * connected before the call returns, or fails within timeout_ms. */
int nmx_peer_add(nmx_engine *e, uint32_t group, const uint8_t *addrs, const uint32_t *lens,
		 const struct nmx_key *warm, int timeout_ms, uint32_t *peer);
/* Fails the peer's transfers with -ECANCELED and forgets it. */
int nmx_peer_remove(nmx_engine *e, uint32_t group, uint32_t peer);
int nmx_expect(nmx_engine *e, uint32_t group, const struct nmx_rx *rx, uint8_t *tag);
int nmx_send(nmx_engine *e, uint32_t group, const struct nmx_tx *tx);
/* Ends transfers by id on either side with -ECANCELED. A receiver's memory may
 * still be written by a peer that was told of it until that peer is removed. */
int nmx_cancel(nmx_engine *e, uint32_t group, uint64_t id);
int nmx_wait(nmx_engine *e, struct nmx_event *events, int max, int timeout_ms);
int nmx_counters(nmx_engine *e, uint32_t group, struct nmx_counters *out);

uint64_t nmx_now(void); /* CLOCK_MONOTONIC, ns */
uint64_t nmx_hash(const void *data, size_t len);
uint64_t nmx_mix(uint64_t x);
/* The two stamps of a page; body hash leaves the stamped bytes out. */
void nmx_stamp(void *page, size_t len, uint64_t seed, uint32_t number);
int nmx_stamp_ok(const void *page, size_t len, uint64_t seed, uint32_t number);
uint64_t nmx_body_hash(const void *page, size_t len);
/* Fills len bytes with the pattern of (seed, number). */
void nmx_fill(void *page, size_t len, uint64_t seed, uint64_t number);
/* Fills n pages from base on with patterns first, first + 1 …, or with base NULL
 * each into scratch (len bytes); gives their body hashes when hash is not NULL. */
void nmx_fill_pages(void *base, size_t len, uint64_t n, uint64_t seed, uint64_t first, uint64_t *hash, void *scratch);
uint64_t nmx_bucket_ns(uint32_t bucket); /* upper end */

#endif
