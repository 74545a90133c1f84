/* Percentiles by nearest rank: always a value that was measured. */
#include <stdlib.h>

#include "probe.h"

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Smallest value that at least permille/1000 of the n values do not exceed. */
static double nearest(const double *t, long n, long permille)
{
    long k = (n * permille + 999) / 1000;
    return t[k > 0 ? k - 1 : 0];
}

void stats_of(double *t, long n, double scale, struct stats *s)
{
    double sum = 0;
    for (long i = 0; i < n; i++)
        sum += t[i];
    qsort(t, (size_t)n, sizeof *t, ascending);
    s->n = n;
    s->mean = sum / (double)n * scale;
    s->min = t[0] * scale;
    s->p50 = nearest(t, n, 500) * scale;
    s->p90 = nearest(t, n, 900) * scale;
    s->p99 = nearest(t, n, 990) * scale;
    s->p999 = nearest(t, n, 999) * scale;
    s->max = t[n - 1] * scale;
}
