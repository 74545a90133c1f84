/* Tests of nearmetal-enter's parts that need no container, meant for the
 * sanitizers. */
#define _GNU_SOURCE
#include "enter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

bool verbose;
static int failures;

#define CHECK(x) \
  do { \
    if (!(x)) { \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x); \
      failures++; \
    } \
  } while (0)

static void add(struct block *b, const char *s) { block_add(b, s, strlen(s)); }

static bool has(const struct block *b, const char *line) {
  for (const char *s = NULL; (s = block_next(b, s));)
    if (!strcmp(s, line)) return true;
  return false;
}

/* a card of a container that passes A on, sets LIB, adds BOX and drops GONE */
static struct card sample(void) {
  struct card c;
  memset(&c, 0, sizeof c);
  add(&c.block[IDENTITY], "x");
  const char *host[] = {"A=1", "LIB=/host", "GONE=1", "RANK=0", "E=", "M=a\nb"}, *box[] = {"A=1", "LIB=/box", "BOX=y", "RANK=0", "E=", "M=a\nb"};
  for (int i = 0; i < 6; i++) add(&c.block[HOST], host[i]), add(&c.block[BOX], box[i]);
  add(&c.block[SCRIPTS], "# NOTHING=$1\nexport LIB=/box BOX=${MODE:-y}\n");
  return c;
}

static void merges(void) {
  struct card c = sample();
  const char *why;
  struct block h = {0}, out = {0};
  const char *own[] = {"A=2", "LIB=/host", "GONE=1", "RANK=1", "E=x", "NEW=$(touch x)\n\"'", "M=c\nd"};
  for (int i = 0; i < 7; i++) add(&h, own[i]);
  CHECK(env_merge(&c, &h, false, &out, &why));
  const char *want[] = {"A=2", "LIB=/box", "BOX=y", "RANK=1", "E=x", "NEW=$(touch x)\n\"'", "M=c\nd"};
  for (int i = 0; i < 7; i++) CHECK(has(&out, want[i]));
  CHECK(!has(&out, "GONE=1") && !has(&out, "LIB=/host"));
}

static void refuses(const char *instead, const char *of) {
  struct card c = sample();
  const char *why = NULL;
  struct block h = {0}, out = {0};
  for (const char *s = NULL; (s = block_next(&c.block[HOST], s));)
    if (!of || strcmp(s, of)) add(&h, s);
  if (instead) add(&h, instead);
  if (env_merge(&c, &h, false, &out, &why)) {
    fprintf(stderr, "merged with %s instead of %s\n", instead, of);
    failures++;
  }
  CHECK(why && *why);
}

static void scripts(void) {
  const char *bad[] = {"export A=$(nproc)", "A=`id`", "A=$$", "eval \"$X\"", " . /opt/env.sh", "source /x", "read A < /proc/self/stat", "true; . /x", "A=$RANDOM"};
  const char *good[] = {"", "# $(x)", "export A=\"$B:/x\"\nif [ -z \"${C:-}\" ]; then D=1; fi", "\n\n", "A=1.5 . "};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) CHECK(env_unsafe(bad[i]));
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) CHECK(!env_unsafe(good[i]));
  struct block s = {0};
  add(&s, "A=${MODE:-x} XMODE1=1");
  CHECK(env_mentions(&s, "MODE", 4) && !env_mentions(&s, "MOD", 3) && !env_mentions(&s, "XMODE", 5) && env_mentions(&s, "XMODE1", 6));
}

/* cards that are cut or changed anywhere are refused or read; nothing else */
static void damaged_cards(void) {
  struct card c = sample(), got;
  for (int i = 0; i < 600; i++) {
    int fd = card_write(&c);
    off_t size = lseek(fd, 0, SEEK_END);
    if (i < size) {
      char x = (char)(i * 37 + 1);
      CHECK(pwrite(fd, &x, 1, i) == 1);
    }
    if (i % 3 == 0) CHECK(!ftruncate(fd, i % (size + 20)));
    if (card_read(fd, &got))
      for (int b = 0; b < 4; b++)
        for (const char *s = NULL; (s = block_next(&got.block[b], s));) CHECK(strlen(s) < (size_t)size);
    close(fd);
  }
  int fd = card_write(&c);
  CHECK(card_read(fd, &got) && got.block[HOST].n == c.block[HOST].n && !memcmp(got.block[BOX].p, c.block[BOX].p, c.block[BOX].n));
}

static void sockets(void) {
  struct sockname n;
  setenv("SLURM_JOB_ID", "7/../../x", 1); /* not a number: no part of a name */
  sock_name(&n, false, 1);
  CHECK(!strstr(n.text, ".."));
  setenv("SLURM_JOB_ID", "77", 1);
  sock_name(&n, true, (uint64_t)getpid());
  CHECK(sock_connect(&n) < 0);
  int l = sock_bind(&n);
  CHECK(l >= 0);
  CHECK(sock_bind(&n) < 0 && errno == EADDRINUSE);
  int s = sock_connect(&n), a = accept(l, NULL, NULL), got[SENT_COUNT], fds[SENT_COUNT] = {0, 1, 2, 0, 1};
  pid_t pid;
  CHECK(s >= 0 && a >= 0 && same_user(a, &pid) && pid == getpid());
  CHECK(send_fds(a, fds) && receive_fds(s, got));
  CHECK(send(a, "x", 1, 0) == 1 && !receive_fds(s, got)); /* no descriptors with it */
  close(a);
  CHECK(!receive_fds(s, got)); /* a keeper that died */
  close(l);
}

static void identities(void) {
  char *line[] = {"apptainer", "exec", "/no/such.sif"};
  struct block a = {0}, b = {0}, c = {0};
  identity(&a, 3, line);
  setenv("SLURM_PROCID", "5", 1);
  identity(&b, 3, line);
  setenv("APPTAINERENV_X", "\n$(x)", 1);
  identity(&c, 3, line);
  CHECK(a.n == b.n && !memcmp(a.p, b.p, a.n) && hash(&a) == hash(&b));
  CHECK(hash(&a) != hash(&c));
}

int main(void) {
  merges();
  refuses("LIB=/other", "LIB=/host");  /* Apptainer set it from another value */
  refuses(NULL, "LIB=/host");          /* … from one that is not there */
  refuses("GONE=2", "GONE=1");         /* dropped, and another value before */
  refuses("MODE=z", NULL);             /* the scripts read it */
  refuses("BOX=z", NULL);              /* they set it */
  refuses("BASH_FUNC_m%%=() { x; }", NULL); /* not a name: would it be passed on? */
  scripts();
  damaged_cards();
  sockets();
  identities();
  if (!failures) puts("enter: ok");
  return failures != 0;
}
