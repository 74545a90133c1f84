/* What plain copying of random pages between two processes of one machine
 * reaches: what transfers over shared memory are held against.
 *
 *   nmx-copy -s PAGE -p POOL -t SECONDS       (bytes, bytes of each pool)
 *   process_vm_writev 7.25                    GB/s (10^9 bytes)
 *   two_step 6.50                             into and out of a shared ring
 */
#define _GNU_SOURCE
#include "nmx.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define RING 8 /* pages */

struct shared {
	atomic_uint_fast64_t head, tail; /* pages put in, taken out */
	atomic_int stop;
	_Alignas(64) char ring[];
};

static size_t page = 1 << 20, pool = 256u << 20;
static double seconds = 3;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static char *map(size_t n, int kind)
{
	char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		die("mmap");
	madvise(p, n, MADV_HUGEPAGE);
	return p;
}

static size_t pick(uint64_t *rng) { return (*rng = nmx_mix(*rng)) % (pool / page) * page; }

/* The receiver takes pages out of the ring into its own pool. */
static void take(struct shared *s, char *to)
{
	uint64_t rng = 7;
	for (uint64_t n = 0;; n++) {
		while (atomic_load_explicit(&s->head, memory_order_acquire) == n) {
			if (atomic_load_explicit(&s->stop, memory_order_relaxed))
				_exit(0);
			sched_yield(); /* more processes than CPUs is the rule here */
		}
		memcpy(to + pick(&rng), s->ring + n % RING * page, page);
		atomic_store_explicit(&s->tail, n + 1, memory_order_release);
	}
}

static void put(struct shared *s, const char *from, uint64_t n, uint64_t *rng)
{
	while (n - atomic_load_explicit(&s->tail, memory_order_acquire) >= RING)
		sched_yield();
	memcpy(s->ring + n % RING * page, from + pick(rng), page);
	atomic_store_explicit(&s->head, n + 1, memory_order_release);
}

static void write_across(pid_t pid, char *from, char *to, uint64_t *rng)
{
	struct iovec a = {from + pick(rng), page}, b = {to + pick(rng), page};
	if (process_vm_writev(pid, &a, 1, &b, 1, 0) != (ssize_t)page)
		die("process_vm_writev");
}

/* One kind of copy for so long; the receiver's pool is private to it. */
static double measure(struct shared *s, char *from, char *to, int direct)
{
	atomic_store(&s->head, 0);
	atomic_store(&s->tail, 0);
	atomic_store(&s->stop, 0);
	pid_t pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		memset(to, 1, pool);
		atomic_store(&s->stop, 2);
		if (direct)
			pause();
		while (atomic_load(&s->stop))
			;
		take(s, to);
	}
	while (atomic_load(&s->stop) != 2) /* its pool is in place */
		usleep(1000);
	atomic_store(&s->stop, 0);
	uint64_t n = 0, rng = 3, start = nmx_now(), end = start + (uint64_t)(seconds * 1e9);
	for (; nmx_now() < end; n++)
		direct ? write_across(pid, from, to, &rng) : put(s, from, n, &rng);
	double rate = (double)n * (double)page / (double)(nmx_now() - start);
	atomic_store(&s->stop, 1);
	if (direct)
		kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return rate; /* bytes per ns are GB/s */
}

int main(int argc, char **argv)
{
	for (int o; (o = getopt(argc, argv, "s:p:t:")) != -1;) {
		switch (o) {
		case 's': page = strtoull(optarg, NULL, 10); break;
		case 'p': pool = strtoull(optarg, NULL, 10); break;
		case 't': seconds = strtod(optarg, NULL); break;
		default: return 2;
		}
	}
	if (page == 0 || pool < page || seconds <= 0)
		return 2;
	char *from = map(pool, MAP_PRIVATE), *to = map(pool, MAP_PRIVATE);
	struct shared *s = (void *)map(sizeof *s + RING * page, MAP_SHARED);
	nmx_fill(from, pool, 1, 1);
	printf("process_vm_writev %.3f\n", measure(s, from, to, 1));
	printf("two_step %.3f\n", measure(s, from, to, 0));
	return 0;
}
