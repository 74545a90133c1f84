/* Becoming a program inside the keeper's container. */
#define _GNU_SOURCE
#include "enter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* obstacle says what would be different from a container of our own. */
static const char *obstacle(const struct card *c) {
  static const char *const name[NS_COUNT] = {"/proc/self/ns/pid", "/proc/self/ns/ipc", "/proc/self/ns/net", "/proc/self/ns/uts", "/proc/self/ns/user"};
  static const char *const what[NS_USER] = {
      "the container has a process namespace of its own", "the container has System V IPC of its own",
      "the container has a network of its own", "the container has a host name of its own"};
  for (int i = 0; i < NS_COUNT; i++) {
    struct stat st;
    if (stat(name[i], &st)) return "/proc is not readable";
    if (i < NS_USER && st.st_ino != c->head.ns[i]) return what[i];
    if (i == NS_USER && st.st_ino == c->head.ns[i]) return "Apptainer made no user namespace (it is installed setuid, or we are root)";
  }
  return c->head.seccomp ? "the container has a seccomp filter" : NULL;
}

static _Noreturn void lost(const char *what) {
  fprintf(stderr, "error: nearmetal-enter: %s: %s\nhint: nearmetal run --start exec\n", what, strerror(errno));
  _exit(OWN_FAILURE);
}

/* privileges makes ours those of the keeper (capabilities(7)). Entering the
 * user namespace gave us all of them there; execve takes what is not ambient. */
static void privileges(const struct card_head *h) {
  for (int cap = 0; cap < 64; cap++) {
    int has = prctl(PR_CAPBSET_READ, cap);
    if (has < 0) break; /* the kernel knows no further ones */
    if (has && !(h->bnd >> cap & 1) && prctl(PR_CAPBSET_DROP, cap)) lost("capability bounding set");
  }
  if (prctl(PR_SET_SECUREBITS, (unsigned long)h->securebits) && h->securebits) lost("securebits");
  struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct data[2];
  for (int i = 0; i < 2; i++) {
    data[i].effective = (uint32_t)(h->eff >> 32 * i);
    data[i].permitted = (uint32_t)(h->prm >> 32 * i);
    data[i].inheritable = (uint32_t)(h->inh >> 32 * i);
  }
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  if (syscall(SYS_capset, &head, data)) lost("capabilities");
  for (int cap = 0; cap < 64; cap++)
    if (h->amb >> cap & 1 && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0)) lost("ambient capabilities");
  if (h->no_new_privs && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) lost("no_new_privs");
}

static _Noreturn void fatal(const char *text) {
  fprintf(stderr, "FATAL:   %s\n", text);
  _exit(BOX_FAILURE);
}

/* runnable as Apptainer's interpreter has it: a file with any execute bit. */
static const char *fault(const char *path) {
  struct stat st;
  if (stat(path, &st)) return strerror(errno);
  if (S_ISDIR(st.st_mode)) return "is a directory";
  if (!(st.st_mode & 0111)) return "permission denied";
  return NULL;
}

/* find gives the path of a program as `apptainer exec` finds it, or ends as it
 * does. */
static const char *find(const char *name, const char *path) {
  static char out[8192];
  char text[8300];
  if (strchr(name, '/')) {
    const char *why = fault(name);
    if (!why) return name;
    if (errno == ENOENT || errno == ENOTDIR) {
      snprintf(text, sizeof text, "stat %s: %s", name, errno == ENOENT ? "no such file or directory" : "not a directory");
      fatal(text);
    }
    fatal(why);
  }
  for (const char *s = path ? path : ""; *s || s == path;) {
    size_t n = strcspn(s, ":");
    int len = snprintf(out, sizeof out, "%.*s%s%s", (int)n, s, n ? "/" : "./", name);
    if (len > 0 && (size_t)len < sizeof out && !fault(out)) return out;
    if (!s[n]) break;
    s += n + 1;
  }
  snprintf(text, sizeof text, "\"%s\": executable file not found in $PATH", name);
  fatal(text);
}

static char **vector(const struct block *b) {
  size_t n = 0;
  for (const char *s = NULL; (s = block_next(b, s));) n++;
  char **out = grow(NULL, (n + 1) * sizeof *out);
  n = 0;
  for (const char *s = NULL; (s = block_next(b, s));) out[n++] = (char *)s;
  out[n] = NULL;
  return out;
}

/* program executes it; a file that the kernel does not know is a script for
 * /bin/sh, as for every shell. */
static _Noreturn void program(const struct block *env, char **argv) {
  const char *path = find(argv[0], block_value(env, "PATH", 4));
  char **list = vector(env);
  execve(path, argv, list);
  if (errno == ENOEXEC) {
    size_t n = 0;
    while (argv[n]) n++;
    char **sh = grow(NULL, (n + 2) * sizeof *sh);
    sh[0] = "sh";
    sh[1] = (char *)path;
    memcpy(sh + 2, argv + 1, n * sizeof *sh);
    execve("/bin/sh", sh, list);
  }
  char text[8300];
  snprintf(text, sizeof text, "fork/exec %s: %s", path, strerror(errno));
  fatal(text);
}

void join(const int fds[SENT_COUNT], const struct card *c, const struct block *env, char **argv, const char **why) {
  *why = obstacle(c);
  if (*why) return;
  preflight_outside();
  *why = "the user namespace of the shared container cannot be joined";
  if (setns(fds[SENT_USER], CLONE_NEWUSER)) return;
  if (setns(fds[SENT_MNT], CLONE_NEWNS)) lost("join the container's mounts");
  if (fchdir(fds[SENT_ROOT]) || chroot(".")) lost("join the container's root");
  if (fchdir(fds[SENT_CWD])) lost("working directory in the container");
  privileges(&c->head);
  preflight_inside();
  program(env, argv);
}
