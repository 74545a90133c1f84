/* Abstract sockets by which ranks find their keeper, and descriptors through
 * them (unix(7)). Anybody may bind a free name, so the peer's user id decides. */
#define _GNU_SOURCE
#include "enter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

static const char *number(const char *name) {
  const char *s = getenv(name);
  return s && *s && strlen(s) < 12 && !s[strspn(s, "0123456789")] ? s : "0";
}

void sock_name(struct sockname *n, bool step, uint64_t key) {
  const char *job = number("SLURM_JOB_ID");
  char where[48];
  if (!step)
    snprintf(where, sizeof where, "%s", job);
  else if (!strcmp(job, "0"))
    snprintf(where, sizeof where, "p%d", (int)getppid());
  else
    snprintf(where, sizeof where, "%s.%s", job, number("SLURM_STEP_ID"));
  snprintf(n->text, sizeof n->text, "nearmetal/%u/%s/%016llx", getuid(), where, (unsigned long long)key);
}

static socklen_t address(const struct sockname *n, struct sockaddr_un *a) {
  memset(a, 0, sizeof *a);
  a->sun_family = AF_UNIX;
  size_t len = strlen(n->text);
  memcpy(a->sun_path + 1, n->text, len);
  return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len);
}

int sock_bind(const struct sockname *n) {
  struct sockaddr_un a;
  socklen_t len = address(n, &a);
  int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  if (!bind(fd, (struct sockaddr *)&a, len) && !listen(fd, 4096)) return fd;
  int e = errno;
  close(fd);
  errno = e;
  return -1;
}

bool same_user(int fd, pid_t *pid) {
  struct ucred c;
  socklen_t n = sizeof c;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c, &n) || c.uid != geteuid()) return false;
  if (pid) *pid = c.pid;
  return true;
}

int sock_connect(const struct sockname *n) {
  struct sockaddr_un a;
  socklen_t len = address(n, &a);
  int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  struct timeval limit = {60, 0}; /* a keeper on a slow file system; then a container of our own */
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  if (!connect(fd, (struct sockaddr *)&a, len) && same_user(fd, NULL)) return fd;
  close(fd);
  return -1;
}

bool send_fds(int fd, const int fds[SENT_COUNT]) {
  char one = 1;
  struct iovec v = {&one, 1};
  union {
    struct cmsghdr h;
    char space[CMSG_SPACE(SENT_COUNT * sizeof(int))];
  } u;
  memset(&u, 0, sizeof u);
  struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = &u, .msg_controllen = sizeof u};
  u.h.cmsg_level = SOL_SOCKET;
  u.h.cmsg_type = SCM_RIGHTS;
  u.h.cmsg_len = CMSG_LEN(SENT_COUNT * sizeof(int));
  memcpy(CMSG_DATA(&u.h), fds, SENT_COUNT * sizeof(int));
  return sendmsg(fd, &m, MSG_NOSIGNAL) == 1;
}

bool receive_fds(int fd, int fds[SENT_COUNT]) {
  char one;
  struct iovec v = {&one, 1};
  union {
    struct cmsghdr h;
    char space[CMSG_SPACE(SENT_COUNT * sizeof(int))];
  } u;
  struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = &u, .msg_controllen = sizeof u};
  ssize_t r;
  do r = recvmsg(fd, &m, MSG_CMSG_CLOEXEC);
  while (r < 0 && errno == EINTR);
  struct cmsghdr *h = CMSG_FIRSTHDR(&m);
  if (r != 1 || !h || h->cmsg_type != SCM_RIGHTS || h->cmsg_len != CMSG_LEN(SENT_COUNT * sizeof(int))) return false;
  memcpy(fds, CMSG_DATA(h), SENT_COUNT * sizeof(int));
  return true;
}
