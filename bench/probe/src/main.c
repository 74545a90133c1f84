/* Start, rank check, sweep over benchmarks and sizes, exit code. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"

enum { PAGE = 4096, LEAST_BYTES = 1 << 20 };

struct totals { long points, errors; };

static void range_of(const struct run *r, const struct benchmark *b,
                     size_t *min, size_t *max)
{
    *min = b->min;
    *max = b->max;
    if (b->shape == SHAPE_BARRIER)
        return;
    if (r->opt->min > *min)
        *min = r->opt->min;
    if (r->opt->max)
        *max = r->opt->max;
}

static int fits(const struct run *r, const struct benchmark *b, size_t size)
{
    return size <= r->opt->memory / 2 && b->need(r, size) <= r->opt->memory / 2;
}

static size_t most_bytes(const struct run *r)
{
    size_t most = LEAST_BYTES, min, max;
    for (int i = 0; i < r->opt->benches; i++) {
        const struct benchmark *b = &catalogue[r->opt->bench[i]];
        if (b->shape == SHAPE_INIT)
            continue;
        range_of(r, b, &min, &max);
        for (size_t s = min; s <= max && fits(r, b, s); s = s ? 2 * s : 1)
            if (b->need(r, s) > most)
                most = b->need(r, s);
    }
    return most;
}

static int allocate(struct run *r)
{
    void *send = NULL, *recv = NULL;
    r->bytes = most_bytes(r);
    r->reqs = calloc(2 * (size_t)r->opt->window, sizeof *r->reqs);
    r->stats = calloc(2 * (size_t)r->opt->window, sizeof *r->stats);
    if (!r->reqs || !r->stats || posix_memalign(&send, PAGE, r->bytes) ||
        posix_memalign(&recv, PAGE, r->bytes)) {
        fprintf(stderr, "nearmetal-probe: rank %d: no memory for 2 x %zu "
                        "bytes of buffers (-M limits them)\n",
                r->rank, r->bytes);
        return EXIT_RUN;
    }
    r->send = memset(send, 0, r->bytes); /* first touch on the bound core */
    r->recv = memset(recv, 0, r->bytes);
    return EXIT_FINE;
}

static void release(struct run *r)
{
    free(r->send);
    free(r->recv);
    free(r->reqs);
    free(r->stats);
    free(r->times);
}

/* A launcher that MPI cannot talk to starts N worlds of one rank each, which
 * all "succeed": the commonest silent failure of containers under Slurm. */
static int check_ranks(const struct run *r, int launched)
{
    int expect = r->opt->expect >= 0 ? r->opt->expect : launched;
    if (expect == 0 || expect == r->size)
        return EXIT_FINE;
    if (r->rank == 0)
        fprintf(stderr,
                "nearmetal-probe: MPI_COMM_WORLD has %d rank(s), %d were "
                "launched: MPI did not find its launcher (under Slurm: srun "
                "--mpi=pmix, and a PMIx in the image that the plugin can "
                "talk to; srun --mpi=list)\n",
                r->size, expect);
    return EXIT_RANKS;
}

static int check_need(const struct run *r)
{
    int need = 1;
    for (int i = 0; i < r->opt->benches; i++)
        if (catalogue[r->opt->bench[i]].min_ranks > need)
            need = catalogue[r->opt->bench[i]].min_ranks;
    if (r->size >= need && r->pair[0] < r->size && r->pair[1] < r->size)
        return EXIT_FINE;
    if (r->rank == 0)
        fprintf(stderr, "nearmetal-probe: %d rank(s) are too few (at least "
                        "%d; --pair wants ranks %d and %d)\n",
                r->size, need, r->pair[0], r->pair[1]);
    return EXIT_RANKS;
}

static void init_point(const struct run *r, const struct benchmark *b,
                       const struct rank_facts *all, double *t,
                       struct point *p)
{
    *p = (struct point){.b = b, .pairs = 1};
    for (int i = 0; i < r->size; i++)
        t[i] = all[i].init_ms * 1e-3;
    stats_of(t, r->size, 1e6, &p->time);
    p->value = p->time.max / 1e3;
    p->rank_min = p->time.min;
    p->rank_max = p->time.max;
}

static int report_init(struct run *r, struct json_out *j,
                       const struct benchmark *b, const struct rank_facts *all)
{
    struct point p;
    if (r->rank)
        return EXIT_FINE;
    double *t = malloc((size_t)r->size * sizeof *t);
    if (!t)
        return EXIT_RUN;
    init_point(r, b, all, t, &p);
    free(t);
    text_init(r, all);
    json_point(j, r, &p);
    return EXIT_FINE;
}

static void report_skip(const struct run *r, struct json_out *j,
                        const struct benchmark *b, size_t size)
{
    if (r->rank)
        return;
    fprintf(stderr, "nearmetal-probe: %s: sizes from %zu need more memory "
                    "than -M allows, left out\n", b->name, size);
    json_skip(j, b, size, "memory limit (-M)");
}

static int sweep(struct run *r, struct json_out *j, const struct benchmark *b,
                 struct totals *sum)
{
    size_t size, max;
    range_of(r, b, &size, &max);
    for (; size <= max; size = 2 * size) {
        struct point p;
        if (!fits(r, b, size)) {
            report_skip(r, j, b, size);
            return EXIT_FINE;
        }
        if (measure(r, b, size, &p))
            return EXIT_RUN;
        sum->points++;
        sum->errors += p.errors;
        if (r->rank == 0) {
            text_point(r, &p);
            json_point(j, r, &p);
        }
        if (size == 0)
            break;
    }
    return EXIT_FINE;
}

static int run_all(struct run *r, struct json_out *j,
                   const struct rank_facts *all, struct totals *sum)
{
    int rc = EXIT_FINE;
    for (int i = 0; i < r->opt->benches && !rc; i++) {
        const struct benchmark *b = &catalogue[r->opt->bench[i]];
        text_header(r, b);
        if (b->shape == SHAPE_INIT) {
            sum->points++;
            rc = report_init(r, j, b, all);
        } else {
            rc = sweep(r, j, b, sum);
        }
    }
    return rc;
}

static int worst(int rc)
{
    int all = rc;
    MPI_Allreduce(&rc, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return all;
}

static int data_verdict(const struct run *r, long errors)
{
    if (errors && r->rank == 0)
        fprintf(stderr, "nearmetal-probe: %ld received bytes were wrong\n",
                errors);
    return errors ? EXIT_DATA : EXIT_FINE;
}

static struct rank_facts *gather_facts(const struct run *r, double init_ms,
                                       double age_ms)
{
    struct rank_facts own, *all = NULL;
    memset(&own, 0, sizeof own);
    facts_of_rank(&own);
    own.init_ms = init_ms;
    own.age_ms = age_ms;
    if (r->rank == 0 && !(all = calloc((size_t)r->size, sizeof own)))
        MPI_Abort(MPI_COMM_WORLD, EXIT_RUN);
    MPI_Gather(&own, sizeof own, MPI_BYTE, all, sizeof own, MPI_BYTE, 0,
               MPI_COMM_WORLD);
    return all;
}

static int probe(struct run *r, const struct rank_facts *all)
{
    struct json_out j = {0};
    struct lib_facts libs;
    struct totals sum = {0, 0};
    double start = now();
    int rc = allocate(r);
    if (!rc && r->rank == 0 && r->opt->json)
        rc = json_open(&j, r->opt->json);
    if ((rc = worst(rc)))
        return rc;
    if (r->rank == 0) {
        facts_of_libs(&libs);
        json_env(&j, r, all, &libs);
    }
    rc = run_all(r, &j, all, &sum);
    if (!rc)
        rc = data_verdict(r, sum.errors);
    int closed = json_close(&j, sum.points, sum.errors, (now() - start) * 1e3);
    return worst(rc ? rc : closed);
}

static void place_run(struct run *r, const struct options *opt)
{
    memset(r, 0, sizeof *r);
    r->opt = opt;
    MPI_Comm_rank(MPI_COMM_WORLD, &r->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &r->size);
    r->pair[0] = opt->pair[0] >= 0 ? opt->pair[0] : 0;
    r->pair[1] = opt->pair[1] >= 0 ? opt->pair[1] : r->size - 1;
    r->text = r->rank == 0 && !(opt->json && strcmp(opt->json, "-") == 0);
}

int main(int argc, char **argv)
{
    double age_ms = facts_age_ms();
    struct options opt;
    struct run r;
    int launched = launched_ranks(); /* MPI_Init may set these variables */
    int rc = options_parse(argc, argv, &opt);
    if (rc)
        return rc < 0 ? EXIT_FINE : rc;
    double before = now();
    MPI_Init(&argc, &argv);
    double init_ms = (now() - before) * 1e3;
    place_run(&r, &opt);
    rc = check_ranks(&r, launched);
    if (!rc)
        rc = check_need(&r);
    if (!rc) {
        struct rank_facts *all = gather_facts(&r, init_ms, age_ms);
        rc = probe(&r, all);
        free(all);
    }
    release(&r);
    MPI_Finalize();
    return rc;
}
