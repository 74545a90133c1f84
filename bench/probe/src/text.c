/*
 * Text in the layout of OSU micro-benchmarks 5 to 7, so that the tools that
 * read those read this; the title names the probe.
 */
#include "probe.h"

enum { FIELD = 20, SIZE_FIELD = 10 };

void text_header(const struct run *r, const struct benchmark *b)
{
    if (!r->text)
        return;
    printf("\n# nearmetal-probe %s Test v%s\n", b->title, PROBE_VERSION);
    if (b->shape == SHAPE_INIT)
        return;
    if (b->shape == SHAPE_RATE)
        printf("# [ pairs: %d ] [ window size: %d ]\n", r->size / 2,
               r->opt->window);
    if (windowed(b) && r->opt->in_flight)
        printf("# At most %zu bytes in flight\n", r->opt->in_flight);
    if (b->shape == SHAPE_BARRIER)
        printf("# Avg Latency(us)");
    else
        printf("%-*s%*s", SIZE_FIELD, "# Size", FIELD,
               b->shape == SHAPE_LATENCY ? "Latency (us)"
               : b->shape == SHAPE_BANDWIDTH ? "Bandwidth (MB/s)"
               : b->shape == SHAPE_RATE ? "MB/s" : "Avg Latency(us)");
    if (b->shape == SHAPE_RATE)
        printf("%*s", FIELD, "Messages/s");
    if (r->opt->full && b->shape >= SHAPE_COLLECTIVE)
        printf("%*s%*s%*s", FIELD, "Min Latency(us)", FIELD, "Max Latency(us)",
               12, "Iterations");
    printf("\n");
}

void text_point(const struct run *r, const struct point *p)
{
    if (!r->text)
        return;
    if (p->b->shape == SHAPE_BARRIER)
        printf("%17.2f", p->value);
    else
        printf("%-*zu%*.2f", SIZE_FIELD, p->size, FIELD, p->value);
    if (p->b->shape == SHAPE_RATE)
        printf("%*.2f", FIELD, p->rate);
    if (r->opt->full && p->b->shape >= SHAPE_COLLECTIVE)
        printf("%*.2f%*.2f%12ld", FIELD, p->rank_min, FIELD, p->rank_max,
               p->time.n);
    printf("\n");
    fflush(stdout);
}

/* osu_init's line; two decimals, for whole milliseconds hide a container. */
void text_init(const struct run *r, const struct rank_facts *all)
{
    double min = all[0].init_ms, max = min, sum = 0;
    if (!r->text)
        return;
    for (int i = 0; i < r->size; i++) {
        double t = all[i].init_ms;
        min = t < min ? t : min;
        max = t > max ? t : max;
        sum += t;
    }
    printf("nprocs: %d, min: %.2f ms, max: %.2f ms, avg: %.2f ms\n", r->size,
           min, max, sum / r->size);
    fflush(stdout);
}
