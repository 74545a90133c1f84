/* Flags, with OSU's meanings where OSU has the flag. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"

static const char usage[] =
    "Usage: nearmetal-probe [options]\n"
    "  -b, --bench LIST     benchmarks in order, separated by commas: init,\n"
    "                       latency, bw, bibw, mbw_mr, allreduce, allgather,\n"
    "                       alltoall, bcast, barrier (default init,latency,bw)\n"
    "      --all            every benchmark\n"
    "  -m, --message-size [MIN:]MAX  bytes, K and M allowed (default 1:4M,\n"
    "                       collectives to 1M; MIN: alone keeps the maximum)\n"
    "  -i, --iterations N   iterations a size; with --budget-ms at most N\n"
    "  -x, --warmup N       iterations dropped before them\n"
    "      --budget-ms MS   time a size (default 10; 0, or -i alone: no limit)\n"
    "  -W, --window-size N  messages in flight (default 64, but at most 16 MiB;\n"
    "                       with -W, as with OSU's, N at every size)\n"
    "  -c, --verify N       verified iterations a size, not timed (default 2)\n"
    "  -f, --full           min, max and iterations columns\n"
    "      --pair A:B       ranks of latency, bw, bibw (default first and last)\n"
    "  -M, --mem-limit N    bytes of buffers a rank (default 512M)\n"
    "      --expect-ranks N refuse another size of MPI_COMM_WORLD (default: what\n"
    "                       mpirun or srun says it started; 0: any)\n"
    "      --json FILE|-    JSON lines; '-': on stdout instead of the text\n"
    "      --corrupt        spoil one received byte a size: shows the check works\n"
    "  -h, --help           this text\n"
    "  -v, --version        version\n"
    "Exit: 0 fine, 1 failed, 2 usage, 3 wrong data, 4 wrong number of ranks.\n";

enum { OPT_ALL = 256, OPT_BUDGET, OPT_PAIR, OPT_EXPECT, OPT_JSON, OPT_CORRUPT };

static const struct option longs[] = {
    {"bench", required_argument, 0, 'b'},
    {"all", no_argument, 0, OPT_ALL},
    {"message-size", required_argument, 0, 'm'},
    {"iterations", required_argument, 0, 'i'},
    {"warmup", required_argument, 0, 'x'},
    {"budget-ms", required_argument, 0, OPT_BUDGET},
    {"window-size", required_argument, 0, 'W'},
    {"verify", required_argument, 0, 'c'},
    {"full", no_argument, 0, 'f'},
    {"pair", required_argument, 0, OPT_PAIR},
    {"mem-limit", required_argument, 0, 'M'},
    {"expect-ranks", required_argument, 0, OPT_EXPECT},
    {"json", required_argument, 0, OPT_JSON},
    {"corrupt", no_argument, 0, OPT_CORRUPT},
    {"help", no_argument, 0, 'h'},
    {"version", no_argument, 0, 'v'},
    {0, 0, 0, 0}};

static int env_int(const char *name)
{
    const char *s = getenv(name);
    return s && *s ? atoi(s) : -1;
}

static int first_of(const char *const *names)
{
    for (; *names; names++)
        if (env_int(*names) >= 0)
            return env_int(*names);
    return -1;
}

int launched_rank(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                                        "PMI_RANK", "SLURM_PROCID", NULL};
    int rank = first_of(names);
    return rank < 0 ? 0 : rank;
}

/* mpirun's own word comes first: inside an allocation SLURM_NTASKS is the
 * job's, and prted's step has one task a node. srun sets the step's count. */
int launched_ranks(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                        "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS",
                                        NULL};
    int n = first_of(names);
    return n < 0 ? 0 : n;
}

static int bad(const char *what, const char *value)
{
    if (launched_rank() == 0)
        fprintf(stderr, "nearmetal-probe: %s: '%s'\n%s", what, value, usage);
    return EXIT_USAGE;
}

/* A count with an optional K or M; *end is left behind it. */
static int parse_count(const char *s, char **end, long long *out)
{
    if (*s < '0' || *s > '9')
        return -1;
    errno = 0;
    *out = strtoll(s, end, 10);
    int shift = **end == 'K' || **end == 'k' ? 10
              : **end == 'M' || **end == 'm' ? 20 : 0;
    if (shift)
        (*end)++;
    if (errno || *out > (LLONG_MAX >> shift))
        return -1;
    *out <<= shift;
    return 0;
}

static int parse_long(const char *s, long min, long max, long *out)
{
    char *end;
    long long v;
    if (parse_count(s, &end, &v) || *end || v < min || v > max)
        return -1;
    *out = (long)v;
    return 0;
}

static int parse_int(const char *s, int min, int *out)
{
    long v;
    if (parse_long(s, min, INT_MAX, &v))
        return -1;
    *out = (int)v;
    return 0;
}

static int parse_range(const char *s, struct options *opt)
{
    char *end;
    long long first, last = 0;
    if (parse_count(s, &end, &first) || first < 1 || first > INT_MAX)
        return -1;
    if (*end == '\0') {
        opt->min = 0;
        opt->max = (size_t)first;
        return 0;
    }
    if (*end != ':')
        return -1;
    if (end[1] && (parse_count(end + 1, &end, &last) || *end ||
                   last < first || last > INT_MAX))
        return -1;
    opt->min = (size_t)first;
    opt->max = (size_t)last;
    return 0;
}

static int parse_pair(const char *s, int pair[2])
{
    char *end;
    long long a, b;
    if (parse_count(s, &end, &a) || *end != ':' ||
        parse_count(end + 1, &end, &b) || *end || a == b ||
        a > INT_MAX || b > INT_MAX)
        return -1;
    pair[0] = (int)a;
    pair[1] = (int)b;
    return 0;
}

static int parse_budget(const char *s, double *out)
{
    char *end;
    *out = strtod(s, &end);
    return end == s || *end || !(*out >= 0 && *out < 1e9) ? -1 : 0;
}

static int parse_benches(const char *s, struct options *opt)
{
    opt->benches = 0;
    while (1) {
        size_t len = strcspn(s, ",");
        int b = catalogue_find(s, len);
        if (b < 0 || opt->benches == MAX_BENCHES)
            return -1;
        opt->bench[opt->benches++] = b;
        if (s[len] == '\0')
            return 0;
        s += len + 1;
    }
}

static void all_benches(struct options *opt)
{
    for (opt->benches = 0; opt->benches < catalogue_len; opt->benches++)
        opt->bench[opt->benches] = opt->benches;
}

static int say(const char *text)
{
    if (launched_rank() == 0)
        fputs(text, stdout);
    return -1;
}

static int apply_number(int c, const char *arg, struct options *opt)
{
    long v = 0;
    switch (c) {
    case 'i': return parse_long(arg, 1, 100000000, &opt->iters);
    case 'x': return parse_long(arg, 0, 100000000, &opt->warmup);
    case 'W':
        opt->in_flight = 0;
        return parse_int(arg, 1, &opt->window);
    case 'c': return parse_int(arg, 0, &opt->verify);
    case OPT_EXPECT: return parse_int(arg, 0, &opt->expect);
    case OPT_BUDGET: return parse_budget(arg, &opt->budget_ms);
    case 'M':
        if (parse_long(arg, 1, LONG_MAX, &v))
            return -1;
        opt->memory = (size_t)v;
        return 0;
    }
    return -1;
}

static int apply(int c, const char *arg, struct options *opt)
{
    switch (c) {
    case OPT_ALL: all_benches(opt); return 0;
    case 'f': opt->full = 1; return 0;
    case OPT_CORRUPT: opt->corrupt = 1; return 0;
    case OPT_JSON: opt->json = arg; return *arg ? 0 : bad("--json", arg);
    case 'b': return parse_benches(arg, opt) ? bad("unknown benchmark", arg) : 0;
    case 'm': return parse_range(arg, opt) ? bad("bad message size", arg) : 0;
    case OPT_PAIR: return parse_pair(arg, opt->pair) ? bad("bad pair", arg) : 0;
    }
    return apply_number(c, arg, opt) ? bad("bad number", arg) : 0;
}

static void defaults(struct options *opt)
{
    memset(opt, 0, sizeof *opt);
    parse_benches("init,latency,bw", opt);
    opt->iters = opt->warmup = -1;
    opt->budget_ms = -1;
    opt->window = 64;
    opt->in_flight = (size_t)16 << 20; /* a slow link: 64 x 4 MiB take 0.3 s */
    opt->verify = 2;
    opt->expect = opt->pair[0] = opt->pair[1] = -1;
    opt->memory = (size_t)512 << 20;
}

int options_parse(int argc, char **argv, struct options *opt)
{
    int c, rc;
    defaults(opt);
    opterr = 0;
    while ((c = getopt_long(argc, argv, "b:m:i:x:W:c:fM:hv", longs, 0)) != -1) {
        if (c == 'h')
            return say(usage);
        if (c == 'v')
            return say("nearmetal-probe " PROBE_VERSION "\n");
        if (c == '?')
            return bad("bad flag or missing value", argv[optind - 1]);
        if ((rc = apply(c, optarg, opt)))
            return rc;
    }
    if (optind < argc)
        return bad("unexpected argument", argv[optind]);
    if (opt->budget_ms < 0)
        opt->budget_ms = opt->iters < 0 ? 10 : 0;
    return 0;
}
