/* What the files of the engine share; nmx.h is the interface. */
#ifndef NMX_INTERNAL_H
#define NMX_INTERNAL_H

#include "nmx.h"

#include <pthread.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdatomic.h>
#include <stdbool.h>

#define OPS_PER_RAIL 1024
#define TAGS 256
#define QUARANTINE_NS 10000000000u /* a cancelled tag is not used again for so long */

/* Immediate data, 4 bytes because efa has no more: tag, pages - 1, first page. */
#define IMM_PAGE_BITS 21
#define IMM(tag, n, first) ((uint32_t)(tag) << 24 | ((uint32_t)(n) - 1) << IMM_PAGE_BITS | (first))

struct tx {
	struct nmx_tx d; /* arrays are owned */
	struct tx *next, *older, *newer; /* queue of its peer; all transfers alive */
	uint64_t start_ns, bytes, digest;
	uint32_t next_page, outstanding, home; /* home: the one rail under NMX_NO_STRIPE */
	int status;
	bool reported;
};

struct rx {
	struct nmx_rx d; /* arrays are owned */
	uint64_t start_ns, bytes, digest;
	uint64_t *seen; /* a bit for each page */
	uint32_t left, bad, first_bad;
	uint8_t tag;
};

struct op {
	struct fi_context2 ctx; /* first: the provider's own */
	struct op *next;
	struct tx *tx; /* NULL: a warm-up */
	uint64_t bytes;
	uint32_t pages, peer;
};

struct rail {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_ep *ep;
	struct fid_mr *scratch_mr;
	uint64_t scratch[8];
	int fd; /* -1: the queue cannot be slept on */
	struct op *ops, *free;
	uint32_t index, next_peer, iov_limit, under_way;
};

struct region {
	char *base;
	uint64_t len;
	struct fid_mr *mr[NMX_MAX_RAILS];
};

struct peer {
	bool used;
	fi_addr_t addr[NMX_MAX_RAILS];
	uint32_t out[NMX_MAX_RAILS];      /* writes under way */
	uint64_t out_bytes[NMX_MAX_RAILS];
	struct nmx_key warm[NMX_MAX_RAILS];
	atomic_int warmth[NMX_MAX_RAILS]; /* WARM_*, or a negative error */
	struct tx *head, *tail;           /* transfers with pages left to post */
};

enum { WARM_NONE, WARM_WANTED, WARM_POSTED, WARM_DONE };

struct group;

struct cmd {
	struct cmd *next;
	void (*run)(struct group *, struct cmd *);
	void *arg;
	int result;
	bool heap, done;
};

struct group {
	nmx_engine *e;
	uint32_t index, rails, peers, sending; /* peers: slots ever used; sending: tx alive */
	int cpu, wake;
	struct rail rail[NMX_MAX_RAILS];
	struct region region[NMX_MAX_REGIONS];
	struct peer peer[NMX_MAX_PEERS];
	_Atomic(struct rx *) tag[TAGS];
	_Atomic uint64_t tag_free_ns[TAGS];
	uint32_t next_tag, transfers; /* the caller's */
	atomic_uint receiving, warming;
	bool unclean; /* the worker's: a peer may be in the middle of a write */
	struct tx *alive; /* all that were sent and not freed; newest first */
	struct nmx_counters count;
	pthread_t thread;
	bool started;
	pthread_mutex_t lock; /* inbox, done */
	pthread_cond_t finished;
	struct cmd *inbox, **inbox_end;
	atomic_bool asleep, stop, mail;
};

struct nmx_engine {
	struct nmx_conf conf;
	uint32_t groups;
	struct group *group;
	pthread_mutex_t lock; /* events */
	pthread_cond_t ready;
	struct nmx_event *event;
	size_t events, capacity;
};

/* Only the worker writes a counter; anyone may read it. */
static inline void bump(uint64_t *c, uint64_t n)
{
	__atomic_store_n(c, *c + n, __ATOMIC_RELAXED);
}

int rail_open(struct rail *r, const struct nmx_rail_conf *c, bool sleepable, char *err, size_t errlen);
void rail_close(struct rail *r);
bool rail_crashes_on_close(const struct rail *r);
int rail_register(struct rail *r, void *base, uint64_t len, uint64_t want, struct fid_mr **mr, struct nmx_key *key);

void *worker_main(void *group);
int group_call(struct group *g, void (*run)(struct group *, struct cmd *), void *arg);
int group_post(struct group *g, void (*run)(struct group *, struct cmd *), void *arg);

int send_some(struct group *g, struct rail *r);
void send_warmups(struct group *g, struct rail *r);
void send_start(struct group *g, struct tx *t);
void send_completed(struct group *g, struct rail *r, struct op *op, int status);
void send_fail_peer(struct group *g, uint32_t peer, int status);
void send_fail_id(struct group *g, uint64_t id, int status);
void tx_free(struct tx *t);

void receive_immediate(struct group *g, struct rail *r, uint32_t imm);
void receive_fail_id(struct group *g, uint64_t id, int status);
void rx_free(struct rx *x);

void event_push(nmx_engine *e, const struct nmx_event *ev);

#endif
