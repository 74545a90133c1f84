/* Lists of strings, and the card that carries four of them through a memfd. */
#define _GNU_SOURCE
#include "enter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char magic[8] = "NMCARD1";

void *grow(void *p, size_t n) {
  p = realloc(p, n);
  if (!p) {
    static const char text[] = "error: nearmetal-enter: out of memory\n";
    if (write(2, text, sizeof text - 1) < 0) _exit(OWN_FAILURE);
    _exit(OWN_FAILURE);
  }
  return p;
}

void block_add(struct block *b, const char *s, size_t n) {
  if (b->n + n + 1 > b->cap) {
    b->cap = 2 * (b->n + n + 1) + 4096;
    b->p = grow(b->p, b->cap);
  }
  memcpy(b->p + b->n, s, n);
  b->p[b->n + n] = 0;
  b->n += n + 1;
}

void block_environ(struct block *b, char **env) {
  for (; *env; env++) block_add(b, *env, strlen(*env));
}

const char *block_next(const struct block *b, const char *s) {
  if (!b->n) return NULL;
  if (!s) return b->p;
  s += strlen(s) + 1;
  return s < b->p + b->n ? s : NULL;
}

size_t name_length(const char *s) { return strcspn(s, "="); }

const char *block_value(const struct block *b, const char *name, size_t len) {
  for (const char *s = NULL; (s = block_next(b, s));)
    if (!strncmp(s, name, len) && s[len] == '=') return s + len + 1;
  return NULL;
}

static bool write_all(int fd, const void *p, size_t n) {
  for (const char *c = p; n;) {
    ssize_t w = write(fd, c, n);
    if (w <= 0) return false;
    c += w;
    n -= (size_t)w;
  }
  return true;
}

int card_write(const struct card *c) {
  int fd = memfd_create("nearmetal", 0);
  if (fd < 0) return -1;
  struct card_head h = c->head;
  memcpy(h.magic, magic, sizeof h.magic);
  for (int i = 0; i < 4; i++) h.len[i] = c->block[i].n;
  bool ok = write_all(fd, &h, sizeof h);
  for (int i = 0; ok && i < 4; i++) ok = write_all(fd, c->block[i].p, c->block[i].n);
  if (ok) return fd;
  close(fd);
  return -1;
}

/* card_read maps the card; what does not add up is refused. The mapping stays. */
bool card_read(int fd, struct card *c) {
  struct stat st;
  if (fstat(fd, &st) || st.st_size < (off_t)sizeof c->head || st.st_size > 5LL * MAX_BLOCK) return false;
  size_t size = (size_t)st.st_size;
  char *p = grow(NULL, size);
  size_t at = 0;
  for (ssize_t r; at < size && (r = pread(fd, p + at, size - at, (off_t)at)) > 0;) at += (size_t)r;
  memcpy(&c->head, p, sizeof c->head);
  if (at != size || memcmp(c->head.magic, magic, sizeof magic)) return false;
  at = sizeof c->head;
  for (int i = 0; i < 4; i++) {
    uint64_t n = c->head.len[i];
    if (n > size - at || (n && p[at + n - 1])) return false;
    c->block[i] = n ? (struct block){p + at, n, n} : (struct block){0};
    at += n;
  }
  return at == size;
}
