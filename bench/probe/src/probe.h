/*
 * nearmetal-probe: MPI start-up, point-to-point and collective timings in one
 * launch, with OSU-like text on stdout and JSON lines with percentiles.
 *
 *   options.c   flags                        → struct options
 *   main.c      MPI_Init, rank check, sweep  → exit code
 *   facts.c     /proc, library versions      → struct rank_facts
 *   catalogue.c the benchmarks, one row each
 *   pt2pt.c     latency, bw, bibw, mbw_mr    ┐ one iteration (step), the data
 *   coll.c      collectives                  ┘ put in (fill) and found (check)
 *   measure.c   verify, warm up, budget, time → struct point
 *   pattern.c   the data; stats.c percentiles
 *   text.c json.c   struct point → output
 *
 * Build: mpicc -O2 -o nearmetal-probe *.c -ldl
 * (Open MPI 4, 5, 6 or MPICH; -ldl is needed by glibc before 2.34 only.)
 */
#ifndef NEARMETAL_PROBE_H
#define NEARMETAL_PROBE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <mpi.h>

#define PROBE_VERSION "1.0"
#define PROBE_SCHEMA "nearmetal/probe/v1"

/* Exit codes; the same on every rank. */
enum {
    EXIT_FINE = 0,    /* all points measured, all data right */
    EXIT_RUN = 1,     /* MPI, memory or output failed */
    EXIT_USAGE = 2,   /* bad flags */
    EXIT_DATA = 3,    /* received data were wrong */
    EXIT_RANKS = 4    /* MPI_COMM_WORLD has another size than was launched */
};

enum { MAX_BENCHES = 16, NAME_LEN = 64, MASK_LEN = 256 };

struct options {
    int bench[MAX_BENCHES]; /* catalogue rows in the order asked for */
    int benches;
    size_t min, max;        /* bytes; 0 = the benchmark's own range */
    long iters, warmup;     /* -1 = by size and budget */
    double budget_ms;       /* per benchmark and size; 0 = none */
    int window;             /* messages in flight (bw, bibw, mbw_mr) */
    size_t in_flight;       /* most bytes of a window; 0 = no limit */
    int verify;             /* verified iterations per size, not timed */
    int full;               /* min, max and iterations columns */
    int corrupt;            /* flip one received byte: proves the check */
    int expect;             /* ranks; -1 = from the launcher, 0 = any */
    int pair[2];            /* ranks of latency, bw, bibw; -1 = first, last */
    size_t memory;          /* bytes of buffers a rank may use */
    const char *json;       /* path, "-" or NULL */
};

/* One value per iteration, microseconds; nearest-rank percentiles. */
struct stats {
    long n;
    double min, p50, p90, p99, p999, max, mean;
};

struct run {
    const struct options *opt;
    int rank, size;         /* in MPI_COMM_WORLD */
    int pair[2];
    int text;               /* 1 on the rank that prints OSU-like text */
    int peer;               /* -1: nobody, this rank looks on */
    int sender;             /* of a pair */
    int counts;             /* this rank's clock is part of the result */
    unsigned char *send, *recv;
    size_t bytes;           /* of each buffer */
    int window;             /* messages in flight */
    int slots;              /* distinct ones among them: 1 while timed, as OSU */
    MPI_Request *reqs;      /* 2 * opt->window */
    MPI_Status *stats;      /* as many: gcc takes MPICH's IGNORE for an overflow */
    double *times;          /* one per timed iteration, seconds */
    long times_cap;
};

struct point;

struct benchmark {
    const char *name, *title;
    enum { SHAPE_INIT, SHAPE_LATENCY, SHAPE_BANDWIDTH, SHAPE_RATE,
           SHAPE_COLLECTIVE, SHAPE_BARRIER } shape;
    int min_ranks;
    size_t min, max;        /* default sizes, bytes */
    long iters, iters_large;   /* OSU's defaults: to 8 KiB and above */
    long warmup, warmup_large;
    double directions;      /* bytes counted per byte sent: bibw 2 */
    size_t (*need)(const struct run *, size_t);
    void (*place)(struct run *);        /* sets peer, sender, counts */
    void (*fill)(struct run *, size_t, uint64_t seed);
    void (*step)(struct run *, size_t);
    long (*check)(struct run *, size_t, uint64_t seed); /* wrong bytes */
};

struct point {
    const struct benchmark *b;
    size_t size;            /* bytes a message; 0 without size */
    double value;           /* us, MB/s or ms (init) as the OSU program gives */
    double rate;            /* messages/s (mbw_mr) */
    double rank_min, rank_max; /* means of the fastest and slowest rank, us */
    int pairs, window;
    long warmup;
    long errors;            /* wrong bytes on all ranks */
    double wall_ms;         /* everything, verification and warm-up included */
    struct stats time;      /* an iteration, slowest rank */
};

/* options.c: 0, or an exit code after the message went to stderr; -1 = help. */
int options_parse(int argc, char **argv, struct options *opt);
int launched_rank(void);    /* before MPI_Init, 0 when unknown */
int launched_ranks(void);   /* what the launcher says, 0 when unknown */

/* catalogue.c */
extern const struct benchmark catalogue[];
extern const int catalogue_len;
int catalogue_find(const char *name, size_t len);

/* measure.c: 0, or an exit code. */
double now(void);           /* seconds, CLOCK_MONOTONIC */
int windowed(const struct benchmark *b);
int measure(struct run *r, const struct benchmark *b, size_t size,
            struct point *out);

/* pt2pt.c */
void place_pair(struct run *r);
void place_half(struct run *r);
size_t need_message(const struct run *r, size_t size);
void fill_window(struct run *r, size_t size, uint64_t seed);
void fill_nothing(struct run *r, size_t size, uint64_t seed);
void step_latency(struct run *r, size_t size);
void step_bw(struct run *r, size_t size);
void step_bibw(struct run *r, size_t size);
long check_both(struct run *r, size_t size, uint64_t seed);
long check_receiver(struct run *r, size_t size, uint64_t seed);
long check_nothing(struct run *r, size_t size, uint64_t seed);

/* coll.c */
void place_all(struct run *r);
size_t need_block_a_rank(const struct run *r, size_t size);
void fill_allreduce(struct run *r, size_t size, uint64_t seed);
void fill_own(struct run *r, size_t size, uint64_t seed);
void fill_alltoall(struct run *r, size_t size, uint64_t seed);
void step_allreduce(struct run *r, size_t size);
void step_allgather(struct run *r, size_t size);
void step_alltoall(struct run *r, size_t size);
void step_bcast(struct run *r, size_t size);
void step_barrier(struct run *r, size_t size);
long check_allreduce(struct run *r, size_t size, uint64_t seed);
long check_allgather(struct run *r, size_t size, uint64_t seed);
long check_alltoall(struct run *r, size_t size, uint64_t seed);
long check_bcast(struct run *r, size_t size, uint64_t seed);

/* pattern.c */
uint64_t pattern_seed(uint64_t base, int from, int to, int slot);
void pattern_fill(void *buf, size_t n, uint64_t seed);
long pattern_wrong(const void *buf, size_t n, uint64_t seed);

/* stats.c: sorts t (seconds); scale gives microseconds. */
void stats_of(double *t, long n, double scale, struct stats *out);

/* facts.c */
struct rank_facts {
    char host[NAME_LEN];
    char cpus[MASK_LEN];    /* "0-3,8" */
    int32_t pid, cpu;       /* cpu it ran on when asked */
    uint64_t user_ns, mnt_ns, pid_ns, ipc_ns; /* inodes, 0 = unknown */
    double init_ms;
    double age_ms;          /* fork to main, /proc's 10 ms steps; -1 unknown */
};
struct lib_facts {
    char mpi[512], standard[16], pmix[128], ucx[64], libfabric[64];
};
void facts_of_rank(struct rank_facts *f);
double facts_age_ms(void);
void facts_of_libs(struct lib_facts *f);

/* text.c */
void text_header(const struct run *r, const struct benchmark *b);
void text_point(const struct run *r, const struct point *p);
void text_init(const struct run *r, const struct rank_facts *all);

/* json.c: a line each; json_close renames FILE.part to FILE. */
struct json_out { FILE *f; const char *path; char part[4096]; };
int json_open(struct json_out *j, const char *path);
void json_env(struct json_out *j, const struct run *r,
              const struct rank_facts *all, const struct lib_facts *libs);
void json_point(struct json_out *j, const struct run *r,
                const struct point *p);
void json_skip(struct json_out *j, const struct benchmark *b, size_t size,
               const char *why);
int json_close(struct json_out *j, long points, long errors, double wall_ms);

#endif
