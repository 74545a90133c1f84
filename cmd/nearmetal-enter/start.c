/* Starting a keeper: the apptainer line of the rank, with ourselves as the
 * program. We reach into the container as /proc/self/fd/N, so that neither the
 * image nor its mounts need anything more. */
#define _GNU_SOURCE
#include "enter.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* seed carries the identity and the environment given to Apptainer. */
static int seed(const struct block *id) {
  struct card c;
  memset(&c, 0, sizeof c);
  c.block[IDENTITY] = *id;
  block_environ(&c.block[HOST], environ);
  return card_write(&c);
}

/* own_world: a session of its own, no terminal, no output that slurmstepd would
 * wait for, all CPUs that the step may use (the first rank is bound to its
 * own), and signals as a program expects them. */
static void own_world(void) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  setsid();
  int null = open("/dev/null", O_RDWR);
  bool keep = verbose && getenv("NEARMETAL_ENTER_DEBUG");
  for (int i = 0; i < (keep ? 2 : 3); i++) dup2(null, i);
  cpu_set_t all;
  memset(&all, 0xff, sizeof all);
  sched_setaffinity(0, sizeof all, &all);
}

static void become_keeper(int listener, int watch, int expect, int words, char **line, const struct block *id) {
  own_world();
  int self = open("/proc/self/exe", O_RDONLY), card = seed(id);
  int fds[KEEPER_FDS] = {self, listener, card, watch};
  for (int i = 0; i < KEEPER_FDS; i++) /* first above the targets, so that none overwrites another */
    if ((fds[i] = fcntl(fds[i], F_DUPFD, KEEPER_FD + KEEPER_FDS)) < 0) _exit(OWN_FAILURE);
  for (int i = 0; i < KEEPER_FDS; i++)
    if (dup2(fds[i], KEEPER_FD + i) < 0) _exit(OWN_FAILURE);
  syscall(SYS_close_range, KEEPER_FD + KEEPER_FDS, ~0U, 0);
  syscall(SYS_close_range, 3, KEEPER_FD - 1, 0);
  char count[16];
  snprintf(count, sizeof count, "%d", expect);
  char **argv = grow(NULL, ((size_t)words + 4) * sizeof *argv);
  memcpy(argv, line, (size_t)words * sizeof *argv);
  argv[words] = "/proc/self/fd/100"; /* KEEPER_FD */
  argv[words + 1] = "--keeper";
  argv[words + 2] = count;
  argv[words + 3] = NULL;
  execvp(argv[0], argv);
  _exit(OWN_FAILURE);
}

pid_t start_keeper(int listener, int watch, int expect, int words, char **line, const struct block *id, bool detach) {
  pid_t pid = fork();
  if (pid < 0) return -1;
  if (pid) {
    if (detach) waitpid(pid, NULL, 0);
    return detach ? 0 : pid;
  }
  if (detach && fork()) _exit(0);
  become_keeper(listener, watch, expect, words, line, id);
  _exit(OWN_FAILURE);
}
