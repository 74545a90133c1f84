/* The task program of a rank: see enter.h. */
#define _GNU_SOURCE
#include "enter.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
bool verbose;

void say(const char *format, ...) {
  if (!verbose) return;
  va_list args;
  va_start(args, format);
  char text[1000];
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  dprintf(2, "nearmetal-enter: %s\n", text);
}

static const char usage[] =
    "usage: nearmetal-enter [--force] [--verbose] WORDS apptainer exec [OPTION]... IMG PROG [ARG]...\n"
    "       nearmetal-enter --hold [--verbose] WORDS apptainer exec [OPTION]... IMG\n"
    "Starts PROG as `apptainer exec` does, in a container that the ranks of a node share.\n"
    "WORDS counts the words from apptainer to IMG. --hold keeps a container for an allocation.\n"
    "--force shares it also where the image's environment scripts run commands.\n";

struct options {
  bool hold, until_eof, force;
  int words;
  char **line;
};

static bool parse(int argc, char **argv, struct options *o) {
  int i = 1;
  for (; i < argc && argv[i][0] == '-'; i++) {
    if (!strcmp(argv[i], "--hold"))
      o->hold = true;
    else if (!strcmp(argv[i], "--until-eof"))
      o->until_eof = true;
    else if (!strcmp(argv[i], "--force"))
      o->force = true;
    else if (!strcmp(argv[i], "--verbose"))
      verbose = true;
    else
      return false;
  }
  if (i >= argc) return false;
  char *end;
  long n = strtol(argv[i], &end, 10);
  if (*end || n < 2 || n > argc - i - 1 || (!o->hold && n == argc - i - 1)) return false;
  o->words = (int)n;
  o->line = argv + i + 1;
  return true;
}

/* local_tasks counts the ranks of this node: SLURM_GTIDS lists them. Without
 * Slurm we are alone. */
static int local_tasks(void) {
  const char *s = getenv("SLURM_GTIDS");
  if (!s || !*s) return 1;
  int n = 1;
  for (; *s; s++) n += *s == ',';
  return n;
}

/* first_of_step binds the step's name and starts its keeper, or finds that
 * another rank has; either way a keeper is to be asked. */
static bool first_of_step(const struct sockname *name, const struct options *o, const struct block *id) {
  int listener = sock_bind(name);
  if (listener < 0) return errno == EADDRINUSE;
  int watch = (int)syscall(SYS_pidfd_open, getppid(), 0);
  bool ok = watch >= 0 && start_keeper(listener, watch, local_tasks(), o->words, o->line, id, true) == 0;
  close(listener);
  close(watch);
  return ok;
}

/* ask gets the card of the allocation's keeper, else of the step's. */
static bool ask(const struct options *o, const struct block *id, int fds[SENT_COUNT]) {
  struct sockname name;
  uint64_t key = hash(id);
  for (int try = 0; try < 3; try++) {
    sock_name(&name, try > 0, key);
    if (try > 0 && !first_of_step(&name, o, id)) return false;
    int s = sock_connect(&name);
    if (s < 0) continue;
    bool got = receive_fds(s, fds);
    close(s);
    if (got) return true;
  }
  return false;
}

static const char *enter(const struct options *o) {
  struct block id = {0}, host = {0}, env = {0};
  struct card card;
  const char *why;
  int fds[SENT_COUNT];
  identity(&id, o->words, o->line);
  if (!ask(o, &id, fds)) return "no shared container could be started";
  if (!card_read(fds[SENT_CARD], &card)) return "the shared container's description is damaged";
  if (card.block[IDENTITY].n != id.n || memcmp(card.block[IDENTITY].p, id.p, id.n)) return "the shared container is another";
  block_environ(&host, environ);
  if (!env_merge(&card, &host, o->force, &env, &why)) return why;
  join(fds, &card, &env, o->line + o->words, &why);
  return why;
}

/* hold_fds: what ends the wait of a held container. */
static bool hold_fds(struct pollfd p[3], bool until_eof) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGHUP);
  sigaddset(&set, SIGCHLD);
  sigprocmask(SIG_BLOCK, &set, NULL);
  p[0] = (struct pollfd){signalfd(-1, &set, SFD_CLOEXEC), POLLIN, 0};
  p[1] = (struct pollfd){(int)syscall(SYS_pidfd_open, getppid(), 0), POLLIN, 0};
  p[2] = (struct pollfd){until_eof ? 0 : -1, POLLIN, 0};
  return p[0].fd >= 0 && p[1].fd >= 0;
}

/* asked_to_stop waits for one event and says whether it asks for our end. */
static bool asked_to_stop(struct pollfd p[3]) {
  struct signalfd_siginfo got = {0};
  char buffer[256];
  bool stop = false;
  if (poll(p, 3, -1) < 0) return false;
  if (p[0].revents) stop = read(p[0].fd, &got, sizeof got) < 0 || got.ssi_signo != SIGCHLD;
  for (int i = 1; i < 3; i++)
    if (p[i].revents && (i == 1 || read(p[i].fd, buffer, sizeof buffer) <= 0)) {
      p[i].fd = -1;
      stop = true;
    }
  return stop;
}

/* wait_keeper lets the keeper go by closing stop when a signal, the end of
 * our parent or of our input asks for it, and waits for its end. */
static int wait_keeper(pid_t pid, struct pollfd p[3], int stop) {
  int status = 0;
  while (waitpid(pid, &status, WNOHANG) == 0)
    if (asked_to_stop(p) && stop >= 0) {
      close(stop);
      stop = -1;
    }
  return WIFEXITED(status) ? WEXITSTATUS(status) : OWN_FAILURE;
}

/* hold keeps a container until its step ends, or we are told to stop, and the
 * last rank has gone. The keeper watches the read end of a pipe that only we
 * can write: it hangs up when we end, however that comes. */
static int hold(const struct options *o) {
  struct block id = {0};
  struct sockname name;
  struct pollfd p[3];
  int stop[2];
  identity(&id, o->words, o->line);
  sock_name(&name, false, hash(&id));
  int listener = sock_bind(&name);
  if (listener < 0) return errno == EADDRINUSE ? 0 : OWN_FAILURE;
  if (!hold_fds(p, o->until_eof) || pipe2(stop, O_CLOEXEC)) return OWN_FAILURE;
  pid_t pid = start_keeper(listener, stop[0], 0, o->words, o->line, &id, false);
  if (pid < 0) return OWN_FAILURE;
  close(listener);
  close(stop[0]);
  return wait_keeper(pid, p, stop[1]);
}

/* once makes a line run behind us, at most once on this host for a job: the
 * name that it holds open goes with its last process. srun ends with the
 * allocation. */
static int once(char **line) {
  struct block id = {0};
  struct sockname name;
  for (char **a = line; *a; a++) block_add(&id, *a, strlen(*a));
  sock_name(&name, false, hash(&id));
  int held = sock_bind(&name);
  if (held < 0) return errno == EADDRINUSE ? 0 : OWN_FAILURE;
  pid_t pid = fork();
  if (pid) return pid < 0 ? OWN_FAILURE : 0;
  setsid();
  int null = open("/dev/null", O_RDWR);
  for (int i = 0; i < 3; i++) dup2(null, i);
  fcntl(held, F_SETFD, 0);
  execvp(line[0], line);
  _exit(OWN_FAILURE);
}

int main(int argc, char **argv) {
  if (argc >= 2 && !strcmp(argv[1], "--keeper")) return keeper_main(argc, argv);
  if (argc > 2 && !strcmp(argv[1], "--once")) return once(argv + 2);
  struct options o = {0};
  if (!parse(argc, argv, &o)) {
    fputs(usage, stderr);
    return OWN_FAILURE;
  }
  if (o.hold) return hold(&o);
  const char *why = enter(&o);
  say("a container of its own for this rank: %s", why);
  execvp(o.line[0], o.line);
  fprintf(stderr, "error: nearmetal-enter: %s: %s\n", o.line[0], strerror(errno));
  return OWN_FAILURE;
}
