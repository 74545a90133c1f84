/* What is known to break or slow down MPI in a container, looked at on the node
 * in the moment of the launch: what is there outside and not inside. A few
 * stat(2) calls of the first rank; nothing is said when nothing is wrong. */
#define _GNU_SOURCE
#include "enter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static struct {
  bool speaks; /* we are the first rank */
  char store[4096];
  bool has_store, has_ib, has_gpu;
} outside;

static bool exists(const char *path) {
  struct stat st;
  return !stat(path, &st);
}

static bool is(const char *name, const char *value) {
  const char *s = getenv(name);
  return s && !strcmp(s, value);
}

static void warn(const char *what, const char *hint) { dprintf(2, "warning: %s\nhint: %s\n", what, hint); }

/* The clients' store of Slurm's PMIx plugin: spmix_appdir_UID_JOB.STEP below
 * TmpFS, which the plugin names in PMIX_SYSTEM_TMPDIR. */
static void find_store(void) {
  const char *tmp = getenv("PMIX_SYSTEM_TMPDIR"), *job = getenv("SLURM_JOB_ID"), *step = getenv("SLURM_STEP_ID");
  if (!tmp || *tmp != '/' || !job || !step) return;
  int n = snprintf(outside.store, sizeof outside.store, "%s/spmix_appdir_%u_%s.%s", tmp, getuid(), job, step);
  outside.has_store = n > 0 && (size_t)n < sizeof outside.store && exists(outside.store);
}

void preflight_outside(void) {
  outside.speaks = is("SLURM_PROCID", "0");
  if (!outside.speaks) return;
  find_store();
  outside.has_ib = exists("/dev/infiniband");
  outside.has_gpu = exists("/dev/nvidiactl") && (getenv("SLURM_STEP_GPUS") || getenv("SLURM_JOB_GPUS"));
}

static void check_store(void) {
  char text[sizeof outside.store + 100];
  if (!outside.has_store || exists(outside.store) || is("PMIX_MCA_gds", "hash")) return;
  snprintf(text, sizeof text, "%s, the PMIx store of this step, is not in the container: MPI_Init will abort", outside.store);
  warn(text, "nearmetal run --bind of the directory above it, or --env PMIX_MCA_gds=hash");
}

/* Open MPI, UCX and NCCL talk within a node through /dev/shm. */
static void check_shm(void) {
  struct statvfs v;
  char text[200];
  if (statvfs("/dev/shm", &v) || access("/dev/shm", W_OK)) {
    warn("/dev/shm of the container cannot be written: ranks of one node will talk over TCP", "nearmetal run --bind /dev/shm");
    return;
  }
  unsigned long long free_mb = (unsigned long long)v.f_bavail * v.f_frsize >> 20;
  if (free_mb >= 64) return;
  snprintf(text, sizeof text, "/dev/shm has %llu MB left: MPI may fail to start or die with SIGBUS", free_mb);
  warn(text, "ls -l /dev/shm on the node: files that dead jobs left there may be removed");
}

static void check_devices(void) {
  struct rlimit r;
  char text[200];
  if (outside.has_ib && !exists("/dev/infiniband")) warn("/dev/infiniband is not in the container: MPI will use TCP", "nearmetal run --bind /dev/infiniband");
  if (outside.has_ib && !getrlimit(RLIMIT_MEMLOCK, &r) && r.rlim_cur < 1ULL << 30) {
    snprintf(text, sizeof text, "locked memory is limited to %llu KB in this step: RDMA registers little or nothing", (unsigned long long)r.rlim_cur >> 10);
    warn(text, "LimitMEMLOCK=infinity for slurmd, and PropagateResourceLimitsExcept=MEMLOCK in slurm.conf");
  }
  if (outside.has_gpu && !exists("/.singularity.d/libs/libcuda.so.1")) warn("the step has GPUs and the container no driver library", "nearmetal run --nv");
}

void preflight_inside(void) {
  if (!outside.speaks) return;
  check_store();
  check_shm();
  check_devices();
}
