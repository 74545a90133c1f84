/*
 * JSON lines: one "env", then one "point" or "skipped" for each benchmark and
 * size, then one "end", without which the output was cut off.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "probe.h"

/* GCC and clang define it at -O1 and above: a probe built without is a slow
   build, and the numbers are its own. */
#ifdef __OPTIMIZE__
#define OPTIMIZED "true"
#else
#define OPTIMIZED "false"
#endif

static void put_string(FILE *f, const char *s)
{
    putc('"', f);
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            fprintf(f, "\\%c", c);
        else if (c < 0x20 || c >= 0x7f)
            fprintf(f, "\\u%04x", c);
        else
            putc(c, f);
    }
    putc('"', f);
}

static void put_field(FILE *f, const char *key, const char *value)
{
    fprintf(f, ",\"%s\":", key);
    put_string(f, value);
}

static int say_errno(const char *what, const char *path)
{
    fprintf(stderr, "nearmetal-probe: %s %s: %s\n", what, path,
            strerror(errno));
    return EXIT_RUN;
}

/* Devices and pipes are written to, never replaced by the rename. */
static int is_special(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

int json_open(struct json_out *j, const char *path)
{
    const char *suffix = is_special(path) ? "" : ".part";
    j->path = path;
    if (strcmp(path, "-") == 0) {
        j->f = stdout;
        return EXIT_FINE;
    }
    int n = snprintf(j->part, sizeof j->part, "%s%s", path, suffix);
    if (n < 0 || (size_t)n >= sizeof j->part)
        errno = ENAMETOOLONG;
    else
        j->f = fopen(j->part, "w");
    return j->f ? EXIT_FINE : say_errno("open", path);
}

static void put_rank(FILE *f, int rank, const struct rank_facts *x)
{
    fprintf(f, "%s{\"rank\":%d", rank ? "," : "", rank);
    put_field(f, "host", x->host);
    put_field(f, "cpus", x->cpus);
    fprintf(f, ",\"cpu\":%d,\"pid\":%d,\"user_ns\":%llu,\"mnt_ns\":%llu"
               ",\"pid_ns\":%llu,\"ipc_ns\":%llu,\"init_ms\":%.4f",
            (int)x->cpu, (int)x->pid, (unsigned long long)x->user_ns,
            (unsigned long long)x->mnt_ns, (unsigned long long)x->pid_ns,
            (unsigned long long)x->ipc_ns, x->init_ms);
    if (x->age_ms >= 0)
        fprintf(f, ",\"age_ms\":%.0f", x->age_ms);
    putc('}', f);
}

void json_env(struct json_out *j, const struct run *r,
              const struct rank_facts *all, const struct lib_facts *libs)
{
    if (!j->f)
        return;
    fprintf(j->f, "{\"type\":\"env\",\"schema\":\"%s\",\"version\":\"%s\"",
            PROBE_SCHEMA, PROBE_VERSION);
    put_field(j->f, "mpi", libs->mpi);
    put_field(j->f, "mpi_standard", libs->standard);
    put_field(j->f, "pmix", libs->pmix);
    put_field(j->f, "ucx", libs->ucx);
    put_field(j->f, "libfabric", libs->libfabric);
    fprintf(j->f, ",\"world\":%d,\"pair\":[%d,%d],\"window\":%d"
                  ",\"budget_ms\":%g,\"optimized\":%s,\"ranks\":[",
            r->size, r->pair[0], r->pair[1], r->opt->window,
            r->opt->budget_ms, OPTIMIZED);
    for (int i = 0; i < r->size; i++)
        put_rank(j->f, i, &all[i]);
    fputs("]}\n", j->f);
    fflush(j->f);
}

static const char *unit_of(const struct benchmark *b)
{
    switch (b->shape) {
    case SHAPE_INIT: return "ms";
    case SHAPE_BANDWIDTH:
    case SHAPE_RATE: return "MB/s";
    default: return "us";
    }
}

void json_point(struct json_out *j, const struct run *r, const struct point *p)
{
    const struct stats *t = &p->time;
    if (!j->f)
        return;
    fprintf(j->f, "{\"type\":\"point\",\"bench\":\"%s\",\"size\":%zu"
                  ",\"value\":%.9g,\"unit\":\"%s\"",
            p->b->name, p->size, p->value, unit_of(p->b));
    if (windowed(p->b))
        fprintf(j->f, ",\"window\":%d", p->window);
    if (p->b->shape == SHAPE_RATE)
        fprintf(j->f, ",\"pairs\":%d,\"messages_per_s\":%.9g", p->pairs,
                p->rate);
    fprintf(j->f, ",\"ranks\":%d,\"rank_min_us\":%.9g,\"rank_max_us\":%.9g"
                  ",\"warmup\":%ld,\"errors\":%ld,\"wall_ms\":%.3f",
            r->size, p->rank_min, p->rank_max, p->warmup, p->errors,
            p->wall_ms);
    fprintf(j->f, ",\"time_us\":{\"n\":%ld,\"min\":%.9g,\"p50\":%.9g"
                  ",\"p90\":%.9g,\"p99\":%.9g,\"p99.9\":%.9g,\"max\":%.9g"
                  ",\"mean\":%.9g}}\n",
            t->n, t->min, t->p50, t->p90, t->p99, t->p999, t->max, t->mean);
    fflush(j->f);
}

void json_skip(struct json_out *j, const struct benchmark *b, size_t size,
               const char *why)
{
    if (!j->f)
        return;
    fprintf(j->f, "{\"type\":\"skipped\",\"bench\":\"%s\",\"size\":%zu",
            b->name, size);
    put_field(j->f, "reason", why);
    fputs("}\n", j->f);
}

int json_close(struct json_out *j, long points, long errors, double wall_ms)
{
    if (!j->f)
        return EXIT_FINE;
    fprintf(j->f, "{\"type\":\"end\",\"points\":%ld,\"errors\":%ld"
                  ",\"wall_ms\":%.3f}\n", points, errors, wall_ms);
    if (j->f == stdout)
        return fflush(stdout) ? say_errno("write", "stdout") : EXIT_FINE;
    if (ferror(j->f) | fclose(j->f))
        return say_errno("write", j->part);
    if (strcmp(j->part, j->path) && rename(j->part, j->path))
        return say_errno("rename to", j->path);
    return EXIT_FINE;
}
