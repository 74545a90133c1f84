/*
 * One benchmark at one size:
 *   verified iterations (not timed, fresh data each)
 *   → warm-up in doubling batches, which also tells the cost of an iteration
 *   → rank 0 picks the number of iterations within the budget
 *   → timed iterations → last look at the data → reduction to rank 0
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "probe.h"

enum { LARGE_MESSAGE = 8192 };       /* OSU's LARGE_MESSAGE_SIZE */
static const double WARMUP_SHARE = 0.15;  /* of the budget */

double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* OSU parts the iterations of collectives by a barrier; those of a pair run
 * on without a break. */
static int parted(const struct benchmark *b)
{
    return b->shape == SHAPE_COLLECTIVE || b->shape == SHAPE_BARRIER;
}

int windowed(const struct benchmark *b)
{
    return b->shape == SHAPE_BANDWIDTH || b->shape == SHAPE_RATE;
}

/* By size alone, so that both arms of a comparison have the same window. */
static int window_of(const struct options *opt, size_t size)
{
    if (!opt->in_flight || size * (size_t)opt->window <= opt->in_flight)
        return opt->window;
    size_t fit = opt->in_flight / size;
    return fit > 4 ? (int)fit : 4;
}

static uint64_t seed_of(const struct benchmark *b, size_t size, long iter)
{
    return (uint64_t)(b - catalogue) << 56 ^ (uint64_t)size << 16 ^
           (uint64_t)iter;
}

static long verify(struct run *r, const struct benchmark *b, size_t size)
{
    long wrong = 0;
    size_t fit = size ? r->bytes / size : 1;
    r->slots = b->shape == SHAPE_LATENCY ? 1 : window_of(r->opt, size);
    if ((size_t)r->slots > fit)
        r->slots = fit ? (int)fit : 1;
    r->window = r->slots;
    for (int i = 0; i < r->opt->verify; i++) {
        uint64_t seed = seed_of(b, size, i + 1);
        b->fill(r, size, seed);
        MPI_Barrier(MPI_COMM_WORLD);
        b->step(r, size);
        if (r->opt->corrupt)
            r->recv[0] ^= 1;
        wrong += b->check(r, size, seed);
    }
    return wrong;
}

static double run_batch(struct run *r, const struct benchmark *b, size_t size,
                        long n)
{
    double start = now();
    for (long i = 0; i < n; i++) {
        if (parted(b))
            MPI_Barrier(MPI_COMM_WORLD);
        b->step(r, size);
    }
    return now() - start;
}

/* Rank 0 decides on the slowest rank's time; everybody gets its answer. */
static double slowest(double t)
{
    double max = 0;
    MPI_Reduce(&t, &max, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    return max;
}

static long agreed(long n)
{
    MPI_Bcast(&n, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    return n;
}

static long warmup_limit(const struct run *r, const struct benchmark *b,
                         size_t size)
{
    if (r->opt->warmup >= 0)
        return r->opt->warmup;
    return size > LARGE_MESSAGE ? b->warmup_large : b->warmup;
}

static long iteration_limit(const struct run *r, const struct benchmark *b,
                            size_t size)
{
    if (r->opt->iters > 0)
        return r->opt->iters;
    return size > LARGE_MESSAGE ? b->iters_large : b->iters;
}

/* Returns the warm-up iterations made; *each is the cost of one, as far as
 * rank 0 knows (the last batch: the first ones set up connections). */
static long warm_up(struct run *r, const struct benchmark *b, size_t size,
                    double *each)
{
    long limit = warmup_limit(r, b, size), done = 0, batch = 1;
    double budget = r->opt->budget_ms * 1e-3 * WARMUP_SHARE, spent = 0;
    if (r->opt->budget_ms <= 0) {
        run_batch(r, b, size, limit);
        return limit;
    }
    while (batch > 0) {
        double t = slowest(run_batch(r, b, size, batch));
        done += batch;
        spent += t;
        *each = t / (double)batch;
        long next = 2 * batch < limit - done ? 2 * batch : limit - done;
        batch = agreed(spent < budget && next > 0 ? next : 0);
    }
    return done;
}

/* A window holds many messages already: few of them are enough. */
static long fewest(const struct benchmark *b)
{
    return windowed(b) ? 3 : 5;
}

static long iterations(const struct run *r, const struct benchmark *b,
                       size_t size, double each)
{
    long limit = iteration_limit(r, b, size);
    if (r->opt->budget_ms <= 0)
        return limit;
    double fit = r->opt->budget_ms * 1e-3 * (1 - WARMUP_SHARE) /
                 (each > 1e-9 ? each : 1e-9);
    long n = fit < (double)limit ? (long)fit : limit;
    if (n < fewest(b))
        n = fewest(b) < limit ? fewest(b) : limit;
    return agreed(n);
}

static void time_chain(struct run *r, const struct benchmark *b, size_t size,
                       long from, long n)
{
    double last = now();
    for (long i = from; i < n; i++) {
        b->step(r, size);
        double t = now();
        r->times[i] = t - last;
        last = t;
    }
}

static void time_parted(struct run *r, const struct benchmark *b, size_t size,
                        long from, long n)
{
    for (long i = from; i < n; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double start = now();
        b->step(r, size);
        r->times[i] = now() - start;
    }
}

/* In up to four parts, so that an estimate made in a lucky moment cannot
 * overrun the budget by much: rank 0 stops between parts. Returns how many
 * iterations were made. */
static long time_all(struct run *r, const struct benchmark *b, size_t size,
                     long n)
{
    long done = 0, part = n;
    double start = now();
    if (r->opt->budget_ms > 0 && n >= 4 * fewest(b))
        part = (n + 3) / 4;
    while (done < n) {
        long end = n - done > part ? done + part : n;
        MPI_Barrier(MPI_COMM_WORLD);
        (parted(b) ? time_parted : time_chain)(r, b, size, done, end);
        done = end;
        if (done < n && agreed((now() - start) * 1e3 > r->opt->budget_ms))
            break;
    }
    return done;
}

static int reserve_times(struct run *r, long n)
{
    if (n <= r->times_cap)
        return EXIT_FINE;
    double *t = realloc(r->times, (size_t)n * sizeof *t);
    if (!t)
        return EXIT_RUN;
    r->times = t;
    r->times_cap = n;
    return EXIT_FINE;
}

/* Means of the ranks whose clocks count: average, fastest, slowest (s). */
struct means { double avg, min, max; };

static struct means reduce_means(const struct run *r, long n)
{
    double sum = 0, in[2], out[2] = {0, 1}, ends[2], worst[2] = {0, 0};
    for (long i = 0; i < n; i++)
        sum += r->times[i];
    in[0] = r->counts ? sum / (double)n : 0;
    in[1] = r->counts;
    MPI_Reduce(in, out, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    ends[0] = r->counts ? -in[0] : -1e30; /* min as max of the negative */
    ends[1] = in[0];
    MPI_Reduce(ends, worst, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    return (struct means){out[0] / out[1], -worst[0], worst[1]};
}

static void reduce_times(struct run *r, long n)
{
    if (!r->counts)
        memset(r->times, 0, (size_t)n * sizeof *r->times);
    MPI_Reduce(r->rank ? r->times : MPI_IN_PLACE, r->times, (int)n, MPI_DOUBLE,
               MPI_MAX, 0, MPI_COMM_WORLD);
}

/* The headline, by the formula of the OSU program of the same name. */
static void headline(struct point *p, double mean)
{
    double bytes = (double)p->size * p->window * p->b->directions;
    if (mean <= 0)
        return;
    switch (p->b->shape) {
    case SHAPE_LATENCY: p->value = mean * 1e6 / 2; break;
    case SHAPE_BANDWIDTH: p->value = bytes / mean / 1e6; break;
    case SHAPE_RATE:
        p->value = p->pairs * bytes / mean / 1e6;
        p->rate = p->pairs * (double)p->window / mean;
        break;
    default: p->value = mean * 1e6;
    }
}

static void summarise(struct run *r, struct point *p, long n)
{
    double scale = p->b->shape == SHAPE_LATENCY ? 0.5e6 : 1e6;
    struct means m = reduce_means(r, n);
    reduce_times(r, n);
    if (r->rank)
        return;
    headline(p, m.avg);
    p->rank_min = m.min * scale;
    p->rank_max = m.max * scale;
    stats_of(r->times, n, scale, &p->time);
}

int measure(struct run *r, const struct benchmark *b, size_t size,
            struct point *p)
{
    double start = now(), each = 0;
    uint64_t seed = seed_of(b, size, 0);
    *p = (struct point){.b = b, .size = size};
    p->pairs = b->shape == SHAPE_RATE ? r->size / 2 : 1;
    b->place(r);
    long wrong = verify(r, b, size);
    r->slots = 1;
    r->window = p->window = window_of(r->opt, size);
    b->fill(r, size, seed);
    MPI_Barrier(MPI_COMM_WORLD);
    p->warmup = warm_up(r, b, size, &each);
    long n = iterations(r, b, size, each);
    if (reserve_times(r, n))
        return EXIT_RUN;
    n = time_all(r, b, size, n);
    wrong += b->check(r, size, seed);
    MPI_Allreduce(&wrong, &p->errors, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    summarise(r, p, n);
    p->wall_ms = (now() - start) * 1e3;
    return EXIT_FINE;
}
