/* The worker: takes commands, polls the rails, posts, rests. One for a group. */
#define _GNU_SOURCE
#include "internal.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define SPIN_NS 30000u          /* adaptive: looks on for so long before it sleeps */
#define IDLE_MS 100             /* longest sleep with nothing to do */
#define TRICKLES 32             /* sleeps by the clock before one by the queues */
#define LOOKS 4                 /* at queues that stir, before a sleep all the same */
#define READ_AT_ONCE 64

static void wake_up(struct group *g)
{
	atomic_store(&g->mail, true);
	if (atomic_exchange(&g->asleep, false))
		eventfd_write(g->wake, 1);
}

static void put(struct group *g, struct cmd *c)
{
	pthread_mutex_lock(&g->lock);
	*g->inbox_end = c;
	g->inbox_end = &c->next;
	pthread_mutex_unlock(&g->lock);
	wake_up(g);
}

int group_call(struct group *g, void (*run)(struct group *, struct cmd *), void *arg)
{
	struct cmd c = {.run = run, .arg = arg};
	put(g, &c);
	pthread_mutex_lock(&g->lock);
	while (!c.done)
		pthread_cond_wait(&g->finished, &g->lock);
	pthread_mutex_unlock(&g->lock);
	return c.result;
}

int group_post(struct group *g, void (*run)(struct group *, struct cmd *), void *arg)
{
	struct cmd *c = calloc(1, sizeof *c);
	if (!c)
		return -ENOMEM;
	c->run = run;
	c->arg = arg;
	c->heap = true;
	put(g, c);
	return 0;
}

static int take_commands(struct group *g)
{
	if (!atomic_load_explicit(&g->mail, memory_order_acquire))
		return 0;
	pthread_mutex_lock(&g->lock);
	struct cmd *c = g->inbox;
	g->inbox = NULL;
	g->inbox_end = &g->inbox;
	atomic_store(&g->mail, false);
	pthread_mutex_unlock(&g->lock);
	int n = 0;
	for (struct cmd *next; c; c = next, n++) {
		next = c->next;
		c->run(g, c);
		if (c->heap) {
			free(c);
			continue;
		}
		pthread_mutex_lock(&g->lock);
		c->done = true;
		pthread_cond_broadcast(&g->finished);
		pthread_mutex_unlock(&g->lock);
	}
	return n;
}

static bool own_op(const struct rail *r, const void *p)
{
	const char *op = p, *first = (const char *)r->ops;
	return p && op >= first && op < first + OPS_PER_RAIL * sizeof *r->ops && (size_t)(op - first) % sizeof *r->ops == 0;
}

static void read_error(struct group *g, struct rail *r)
{
	struct fi_cq_err_entry e = {0};
	bump(&g->count.errors, 1);
	g->unclean = true;
	if (fi_cq_readerr(r->cq, &e, 0) != 1)
		return;
	int status = e.err ? -e.err : -EIO;
	if (own_op(r, e.op_context))
		send_completed(g, r, e.op_context, status);
}

static int poll_rail(struct group *g, struct rail *r)
{
	struct fi_cq_data_entry c[READ_AT_ONCE];
	ssize_t n = fi_cq_read(r->cq, c, READ_AT_ONCE);
	bump(&g->count.polls, 1);
	if (n == -FI_EAVAIL) {
		read_error(g, r);
		return 1;
	}
	for (ssize_t i = 0; i < n; i++) {
		if (c[i].flags & FI_REMOTE_CQ_DATA)
			receive_immediate(g, r, (uint32_t)c[i].data);
		else if (own_op(r, c[i].op_context))
			send_completed(g, r, c[i].op_context, 0);
	}
	return n > 0 ? (int)n : 0;
}

static int turn(struct group *g, bool eager)
{
	int n = take_commands(g);
	for (uint32_t i = 0; i < g->rails; i++) {
		struct rail *r = &g->rail[i];
		if (atomic_load_explicit(&g->warming, memory_order_relaxed))
			send_warmups(g, r);
		if (eager)
			n += send_some(g, r);
		n += poll_rail(g, r);
		if (!eager)
			n += send_some(g, r);
	}
	return n;
}

static bool busy(struct group *g)
{
	return g->alive || atomic_load(&g->receiving) || atomic_load(&g->warming);
}

static void nap(long us)
{
	struct timespec t = {0, us * 1000};
	nanosleep(&t, NULL);
}

/* fi_trywait says whether a queue may be slept on; fi_cq(3). */
static bool may_sleep(struct group *g, struct pollfd *fds)
{
	for (uint32_t i = 0; i < g->rails; i++) {
		struct fid *f = &g->rail[i].cq->fid;
		if (fi_trywait(g->rail[i].fabric, &f, 1))
			return false;
		fds[i] = (struct pollfd){.fd = g->rail[i].fd, .events = POLLIN};
	}
	return true;
}

/* Sleeps until a command comes, the time is over, or one of n queues stirs. */
static void doze(struct group *g, struct pollfd *fds, uint32_t n, long us)
{
	struct timespec t = {us / 1000000, us % 1000000 * 1000};
	eventfd_t v;
	fds[n] = (struct pollfd){.fd = g->wake, .events = POLLIN};
	ppoll(fds, n + 1, &t, NULL);
	atomic_store(&g->asleep, false);
	if (fds[n].revents)
		eventfd_read(g->wake, &v);
	bump(&g->count.sleeps, 1);
}

static bool sleepable(const struct group *g)
{
	for (uint32_t i = 0; i < g->rails; i++)
		if (g->rail[i].fd < 0)
			return false;
	return true;
}

/* More to read at once: a look takes 9 KB from a socket when that holds the
 * start of a write, so one look does not empty it. */
static bool stirring(const struct group *g)
{
	struct pollfd fds[NMX_MAX_RAILS];
	for (uint32_t i = 0; i < g->rails; i++)
		fds[i] = (struct pollfd){.fd = g->rail[i].fd, .events = POLLIN};
	return poll(fds, g->rails, 0) > 0;
}

/* A write of 256 KiB over a slow link stirs the queue with every packet. A
 * wake-up that completed nothing is therefore followed by sleeps that only the
 * clock ends, until something completes: on 32 links of 100 Mbit/s that is the
 * difference between 60 % and line rate on two cores. */
static void sleep_on_queues(struct group *g, uint32_t *trickle, uint32_t *looks)
{
	struct pollfd fds[NMX_MAX_RAILS + 1];
	bool work = busy(g);
	long us = work ? (long)g->e->conf.nap_us : IDLE_MS * 1000L;
	if (!sleepable(g)) {
		nap(work ? 50 : 1000);
		return;
	}
	if (work && *looks < LOOKS && stirring(g)) {
		++*looks;
		return;
	}
	*looks = 0;
	atomic_store(&g->asleep, true);
	bool clock = work && *trickle > 0 && *trickle < TRICKLES;
	*trickle = work ? *trickle % TRICKLES + 1 : 0;
	if (atomic_load(&g->mail) || atomic_load(&g->stop) || (!clock && !may_sleep(g, fds)))
		atomic_store(&g->asleep, false);
	else
		doze(g, fds, clock ? 0 : g->rails, us);
}

static void pin(int cpu)
{
	cpu_set_t s;
	CPU_ZERO(&s);
	if (cpu < 0 || cpu >= CPU_SETSIZE)
		return;
	CPU_SET(cpu, &s);
	pthread_setaffinity_np(pthread_self(), sizeof s, &s);
}

static void rest(struct group *g, uint64_t *idle_since, uint32_t *trickle, uint32_t *looks)
{
	if (g->e->conf.waiting == NMX_SPIN)
		return;
	if (g->e->conf.waiting == NMX_ADAPTIVE) {
		uint64_t now = nmx_now();
		if (!*idle_since)
			*idle_since = now;
		if (now - *idle_since < SPIN_NS)
			return;
	}
	sleep_on_queues(g, trickle, looks);
}

void *worker_main(void *arg)
{
	struct group *g = arg;
	bool eager = g->e->conf.ablate & NMX_EAGER;
	uint64_t idle_since = 0;
	uint32_t trickle = 0, looks = 0;
	pin(g->cpu);
	while (!atomic_load_explicit(&g->stop, memory_order_relaxed)) {
		if (turn(g, eager))
			idle_since = 0, trickle = 0, looks = 0;
		else
			rest(g, &idle_since, &trickle, &looks);
	}
	return NULL;
}
