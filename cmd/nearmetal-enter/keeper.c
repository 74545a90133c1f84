/* The keeper: a process in the container that hands its namespaces to the ranks
 * of its node, and lives until nobody can come any more and all have gone. */
#define _GNU_SOURCE
#include "enter.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FIXED = 3 }; /* descriptors that are no rank's */

extern char **environ;

static uint64_t status_field(const char *text, const char *name, int base) {
  const char *s = strstr(text, name);
  return s ? strtoull(s + strlen(name), NULL, base) : 0;
}

static void read_status(struct card_head *h) {
  char text[8192];
  int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
  if (n <= 0) _exit(OWN_FAILURE);
  close(fd);
  text[n] = 0;
  h->inh = status_field(text, "\nCapInh:", 16);
  h->prm = status_field(text, "\nCapPrm:", 16);
  h->eff = status_field(text, "\nCapEff:", 16);
  h->bnd = status_field(text, "\nCapBnd:", 16);
  h->amb = status_field(text, "\nCapAmb:", 16);
  h->no_new_privs = (uint32_t)status_field(text, "\nNoNewPrivs:", 10);
  h->seccomp = (uint32_t)status_field(text, "\nSeccomp:", 10);
  h->securebits = (uint32_t)prctl(PR_GET_SECUREBITS);
}

/* read_script adds one file of the image's environment. 95-apps.sh is
 * Apptainer's own; what it sources depends on a variable that is in the key. */
static void read_script(struct card *c, int dir, const char *name) {
  struct stat st;
  int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return;
  if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > 1 << 20) {
    c->head.unsafe = 1;
    close(fd);
    return;
  }
  char *text = grow(NULL, (size_t)st.st_size + 1);
  ssize_t n = read(fd, text, (size_t)st.st_size);
  close(fd);
  text[n < 0 ? 0 : n] = 0;
  block_add(&c->block[SCRIPTS], text, strlen(text));
  if (strcmp(name, "95-apps.sh") && env_unsafe(text)) c->head.unsafe = 1;
  free(text);
}

static void read_scripts(struct card *c) {
  DIR *d = opendir("/.singularity.d/env");
  for (struct dirent *e; d && (e = readdir(d));)
    if (e->d_name[0] != '.') read_script(c, dirfd(d), e->d_name);
  if (d) closedir(d);
}

static void read_namespaces(struct card_head *h) {
  static const char *const name[NS_COUNT] = {"/proc/self/ns/pid", "/proc/self/ns/ipc", "/proc/self/ns/net", "/proc/self/ns/uts", "/proc/self/ns/user"};
  for (int i = 0; i < NS_COUNT; i++) {
    struct stat st;
    h->ns[i] = stat(name[i], &st) ? 0 : st.st_ino;
  }
}

static int make_card(void) {
  struct card c;
  memset(&c, 0, sizeof c);
  if (!card_read(SEED, &c)) return -1;
  block_environ(&c.block[BOX], environ);
  read_status(&c.head);
  read_namespaces(&c.head);
  read_scripts(&c);
  return card_write(&c);
}

struct ranks {
  struct pollfd *p; /* FIXED of our own, then one pidfd a rank */
  nfds_t n;
  int come;
};

static void serve(struct ranks *r, const int fds[SENT_COUNT]) {
  pid_t pid;
  int s = accept4(LISTENER, NULL, NULL, SOCK_CLOEXEC);
  if (s < 0) return;
  if (same_user(s, &pid)) {
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0); /* first: the rank waits for the card */
    if (send_fds(s, fds) && pidfd >= 0) {
      r->p = grow(r->p, (r->n + 1) * sizeof *r->p);
      r->p[r->n++] = (struct pollfd){pidfd, POLLIN, 0};
    }
    r->come++;
  }
  close(s);
}

static void forget(struct ranks *r) {
  for (nfds_t i = FIXED; i < r->n;)
    if (r->p[i].revents) {
      close(r->p[i].fd);
      r->p[i] = r->p[--r->n];
    } else {
      i++;
    }
}

/* hold serves until the end: no rank left, and none to come because the step
 * is over, we were told so, or all that were expected have been here. */
static void hold(const int fds[SENT_COUNT], int expect) {
  struct ranks r = {grow(NULL, FIXED * sizeof *r.p), FIXED, 0};
  int parent = (int)syscall(SYS_pidfd_open, getppid(), 0);
  r.p[0] = (struct pollfd){LISTENER, POLLIN, 0};
  r.p[1] = (struct pollfd){WATCH, POLLIN, 0};
  r.p[2] = (struct pollfd){parent, POLLIN, 0}; /* without Apptainer the image is gone */
  for (bool over = false; !over || r.n > FIXED;) {
    if (poll(r.p, r.n, -1) < 0 && errno != EINTR) return;
    if (r.p[2].revents) return;
    if (r.p[0].revents) serve(&r, fds);
    forget(&r);
    if (r.p[1].revents) {
      over = true;
      r.p[1].fd = -1;
    }
    over = over || (expect && r.come >= expect);
    for (nfds_t i = 0; i < r.n; i++) r.p[i].revents = 0;
  }
}

int keeper_main(int argc, char **argv) {
  int expect = argc > 2 ? atoi(argv[2]) : 0;
  for (int s = 1; s < 32; s++) /* a rank may still work after them: we end when it has ended */
    if (s == SIGTERM || s == SIGINT || s == SIGHUP || s == SIGQUIT || s == SIGUSR1 || s == SIGUSR2 || s == SIGALRM) signal(s, SIG_IGN);
  int fds[SENT_COUNT] = {
      make_card(),
      open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC),
      open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC),
      open("/", O_PATH | O_DIRECTORY | O_CLOEXEC),
      open(".", O_PATH | O_DIRECTORY | O_CLOEXEC),
  };
  for (int i = 0; i < SENT_COUNT; i++)
    if (fds[i] < 0) return OWN_FAILURE;
  signal(SIGCHLD, SIG_IGN);
  warm();
  hold(fds, expect);
  return 0;
}
