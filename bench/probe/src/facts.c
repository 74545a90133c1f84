/*
 * What makes two launches comparable or not: where each rank ran, in which
 * namespaces, and which libraries it really loaded.
 */
#define _GNU_SOURCE /* sched_getaffinity, sched_getcpu, RTLD_NOLOAD */
#include <dlfcn.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "probe.h"

/* "user:[4026531837]" → inode (namespaces(7)). */
static uint64_t ns_inode(const char *link)
{
    char text[64] = "", *open;
    ssize_t n = readlink(link, text, sizeof text - 1);
    open = n > 0 ? strchr(text, '[') : NULL;
    return open ? strtoull(open + 1, NULL, 10) : 0;
}

/* Appends "a-b" or "a"; 0 when the list is full. */
static int add_span(char *out, size_t *used, int a, int b)
{
    int n = snprintf(out + *used, MASK_LEN - *used, a == b ? "%s%d" : "%s%d-%d",
                     *used ? "," : "", a, b);
    if (n < 0 || *used + (size_t)n > MASK_LEN - 5) {
        memcpy(out + *used, ",...", 5);
        return 0;
    }
    *used += (size_t)n;
    return 1;
}

static void cpu_list(char out[MASK_LEN])
{
    enum { CPUS = 16384 };
    size_t bytes = CPU_ALLOC_SIZE(CPUS), used = 0;
    cpu_set_t *set = CPU_ALLOC(CPUS);
    out[0] = '\0';
    if (!set || sched_getaffinity(0, bytes, set))
        goto done;
    for (int a = 0; a < CPUS; a++) {
        int b = a;
        if (!CPU_ISSET_S((size_t)a, bytes, set))
            continue;
        while (b + 1 < CPUS && CPU_ISSET_S((size_t)b + 1, bytes, set))
            b++;
        if (!add_span(out, &used, a, b))
            break;
        a = b;
    }
done:
    if (set)
        CPU_FREE(set);
}

/* Field 22 of /proc/self/stat, in clock ticks since boot (proc(5)): 10 ms
 * steps, too coarse for native start-up, good enough for a container's. In a
 * time namespace it is unknown how far boot is, so a negative age is dropped. */
double facts_age_ms(void)
{
    char line[1024], *p;
    FILE *f = fopen("/proc/self/stat", "r");
    size_t n = f ? fread(line, 1, sizeof line - 1, f) : 0;
    if (f)
        fclose(f);
    line[n] = '\0';
    p = strrchr(line, ')'); /* the command may hold blanks and brackets */
    for (int field = 2; p && field < 22; field++)
        p = strchr(p + 1, ' ');
    struct timespec t;
    if (!p || clock_gettime(CLOCK_BOOTTIME, &t))
        return -1;
    double boot_ms = (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
    double age = boot_ms - strtod(p, NULL) * 1e3 / (double)sysconf(_SC_CLK_TCK);
    return age >= 0 ? age : -1;
}

void facts_of_rank(struct rank_facts *f)
{
    f->pid = (int32_t)getpid();
    f->cpu = sched_getcpu();
    if (gethostname(f->host, sizeof f->host - 1))
        strcpy(f->host, "?");
    cpu_list(f->cpus);
    f->user_ns = ns_inode("/proc/self/ns/user");
    f->mnt_ns = ns_inode("/proc/self/ns/mnt");
    f->pid_ns = ns_inode("/proc/self/ns/pid");
    f->ipc_ns = ns_inode("/proc/self/ns/ipc");
}

/* Path of the loaded library whose file name begins with name, from
 * /proc/self/maps; "" when MPI did not load it. */
static void loaded_path(const char *name, char *out, size_t cap)
{
    char line[4608], *path, *base;
    FILE *f = fopen("/proc/self/maps", "r");
    out[0] = '\0';
    while (f && !out[0] && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        path = strchr(line, '/');
        base = path ? strrchr(path, '/') + 1 : "";
        if (strncmp(base, name, strlen(name)) == 0 && strlen(path) < cap)
            strcpy(out, path);
    }
    if (f)
        fclose(f);
}

/* A function of a library that is loaded already; nothing is linked. */
static void *loaded_symbol(const char *library, const char *symbol)
{
    char path[4096];
    loaded_path(library, path, sizeof path);
    void *h = path[0] ? dlopen(path, RTLD_NOLOAD | RTLD_LAZY) : NULL;
    return h ? dlsym(h, symbol) : NULL;
}

static void text_version(const char *library, const char *symbol, char *out,
                         size_t cap)
{
    const char *(*version)(void);
    void *s = loaded_symbol(library, symbol);
    memcpy(&version, &s, sizeof s); /* POSIX's way from void* to a function */
    snprintf(out, cap, "%s", s ? version() : "");
}

static void libfabric_version(char *out, size_t cap)
{
    uint32_t (*version)(void);
    void *s = loaded_symbol("libfabric.so", "fi_version");
    memcpy(&version, &s, sizeof s);
    uint32_t v = s ? version() : 0; /* FI_MAJOR, FI_MINOR of fabric.h */
    snprintf(out, cap, s ? "%u.%u" : "", v >> 16, v & 0xffff);
}

void facts_of_libs(struct lib_facts *l)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int n = 0, major = 0, minor = 0;
    MPI_Get_library_version(text, &n);
    snprintf(l->mpi, sizeof l->mpi, "%.*s", (int)sizeof l->mpi - 1, text);
    MPI_Get_version(&major, &minor);
    snprintf(l->standard, sizeof l->standard, "%d.%d", major, minor);
    text_version("libpmix.so", "PMIx_Get_version", l->pmix, sizeof l->pmix);
    text_version("libucp.so", "ucp_get_version_string", l->ucx, sizeof l->ucx);
    libfabric_version(l->libfabric, sizeof l->libfabric);
}
