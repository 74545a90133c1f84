/* nearmetal-enter starts a rank of an MPI program in a container that the ranks
 * of a node share. A task line under srun is
 *
 *   nearmetal-enter [options] WORDS apptainer -s exec [options] IMG PROG [ARG]...
 *
 * where WORDS is how many words, "apptainer" to IMG, belong to Apptainer:
 *
 *   rank ──connect──→ keeper of the allocation or of the step    (keeper.c)
 *    │                none yet: bind its name, start it          (start.c)
 *    │                = the same apptainer line, running us
 *    ├─ its card: namespaces, root, cwd, environment, capabilities
 *    ├─ would anything differ from a container of our own? then exec the line as it is
 *    └─ setns, chroot, environment, capabilities → exec PROG     (join.c)
 *
 * A keeper is found by an abstract socket (unix(7)): its name goes with its last
 * process, so that nothing is left to clean up, and binding it is the lock that
 * decides who starts the keeper. Each side believes the other's user id only.
 *
 * Whatever goes wrong before the first setns(2), the line is executed as it is. */
#ifndef ENTER_H
#define ENTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
  MAX_BLOCK = 16 << 20, /* bytes of one block: execve takes 6 MB of environment */
  OWN_FAILURE = 125,    /* our exit code, as env(1) has it */
  BOX_FAILURE = 255     /* Apptainer's, when the program cannot be started */
};

/* block is a list of strings, each with its NUL, one after the other. */
struct block {
  char *p;
  size_t n, cap;
};

void block_add(struct block *b, const char *s, size_t n); /* adds n bytes and a NUL */
void block_environ(struct block *b, char **env);
const char *block_next(const struct block *b, const char *s); /* NULL: first; returns NULL at the end */
/* block_value gives the value of NAME (len bytes) in a block of NAME=value, or NULL. */
const char *block_value(const struct block *b, const char *name, size_t len);
size_t name_length(const char *assignment);

/* card is what a keeper tells of the container it holds. In a memfd: struct
 * card_head, then the four blocks. */
enum { NS_PID, NS_IPC, NS_NET, NS_UTS, NS_USER, NS_COUNT };

struct card_head {
  char magic[8];
  uint64_t inh, prm, eff, bnd, amb; /* capabilities, proc_pid_status(5) */
  uint64_t ns[NS_COUNT];            /* inode numbers of its namespaces */
  uint32_t no_new_privs, seccomp, securebits, unsafe;
  uint64_t len[4];
};

enum { IDENTITY, HOST, BOX, SCRIPTS }; /* blocks: who it is for, environment given to Apptainer, environment inside, the image's scripts */

struct card {
  struct card_head head;
  struct block block[4];
};

int card_write(const struct card *c); /* memfd, or -1 */
bool card_read(int fd, struct card *c);

/* env.c: what Apptainer would make of a rank's environment. */
/* env_merge gives the environment of a rank whose own is host, or says why that
 * is not known. force ignores what an image's scripts may compute. */
bool env_merge(const struct card *c, const struct block *host, bool force, struct block *out, const char **why);
/* env_unsafe says whether a script's result may depend on more than variables. */
bool env_unsafe(const char *script);
bool env_mentions(const struct block *scripts, const char *name, size_t len);

/* key.c: which keeper is ours. */
void identity(struct block *out, int words, char **line);
uint64_t hash(const struct block *b);

/* sock.c */
struct sockname {
  char text[100];
};
void sock_name(struct sockname *n, bool step, uint64_t key);
int sock_bind(const struct sockname *n);    /* listening socket, or -1 with errno */
int sock_connect(const struct sockname *n); /* connected to a process of our own user, or -1 */
bool same_user(int fd, pid_t *pid);
enum { SENT_CARD, SENT_USER, SENT_MNT, SENT_ROOT, SENT_CWD, SENT_COUNT };
bool send_fds(int fd, const int fds[SENT_COUNT]);
bool receive_fds(int fd, int fds[SENT_COUNT]);

/* start.c */
/* start_keeper makes the same apptainer line run a keeper that serves listener
 * and ends when the process behind the pidfd watch has ended (and, when expect
 * is not 0, as soon as so many ranks have come and gone). Returns the pid of
 * apptainer to a caller that waits, 0 when detached, -1 on failure. */
pid_t start_keeper(int listener, int watch, int expect, int words, char **line, const struct block *id, bool detach);

/* Descriptors that a keeper inherits: itself, the listening socket, the seed
 * card, and the pidfd or pipe whose end means that no further rank will come.
 * Apptainer's interpreter uses the low numbers itself. */
enum { KEEPER_FD = 100, LISTENER, SEED, WATCH, KEEPER_FDS = 4 };

/* keeper.c: runs inside the container. */
int keeper_main(int argc, char **argv);

/* warm.c: reads, beside us, what MPI will load, so that the ranks find it in memory. */
void warm(void);

/* preflight.c: looks before and after a rank has gone in. */
void preflight_outside(void);
void preflight_inside(void);

/* join.c: becomes the program inside the container; returns only before the
 * point of no return, with why. */
void join(const int fds[SENT_COUNT], const struct card *c, const struct block *env, char **program, const char **why);

void say(const char *format, ...) __attribute__((format(printf, 1, 2))); /* with --verbose */
void *grow(void *p, size_t n);
extern bool verbose;

#endif
