/* Two ranks may share a container when their apptainer lines, the image file,
 * the working directory and what Apptainer itself reads are the same. */
#define _GNU_SOURCE
#include "enter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

/* read_by_apptainer: its own settings and what its configuration, its helper
 * programs and its treatment of PATH depend on. */
static bool read_by_apptainer(const char *s) {
  static const char *const prefix[] = {"APPTAINER", "SINGULARITY", "PATH=", "LD_LIBRARY_PATH=", "LD_PRELOAD=", "HOME=", "PS1=",
                                       "USER_PATH=", "NVIDIA_", "SING_USER_DEFINED_"};
  for (size_t i = 0; i < sizeof prefix / sizeof *prefix; i++)
    if (!strncmp(s, prefix[i], strlen(prefix[i]))) return true;
  return false;
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static void add_settings(struct block *out) {
  size_t n = 0;
  char **list = NULL;
  for (char **e = environ; *e; e++)
    if (read_by_apptainer(*e)) {
      list = grow(list, (n + 1) * sizeof *list);
      list[n++] = *e;
    }
  if (n) qsort(list, n, sizeof *list, by_text);
  for (size_t i = 0; i < n; i++) block_add(out, list[i], strlen(list[i]));
  free(list);
}

static void add_file(struct block *out, const char *what, const char *path) {
  struct stat st;
  char text[200];
  if (stat(path, &st)) memset(&st, 0, sizeof st);
  int n = snprintf(text, sizeof text, "%s %llu:%llu %lld %lld.%09ld", what, (unsigned long long)st.st_dev, (unsigned long long)st.st_ino,
                   (long long)st.st_size, (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
  block_add(out, text, (size_t)n);
}

/* add_mounts: what a container binds is what its starter sees. Only the inode
 * names a namespace; its times are those of the first look. */
static void add_mounts(struct block *out) {
  struct stat st;
  char text[64];
  block_add(out, text, (size_t)snprintf(text, sizeof text, "mounts %llu", stat("/proc/self/ns/mnt", &st) ? 0ULL : (unsigned long long)st.st_ino));
}

static void add_ids(struct block *out) {
  char text[64];
  gid_t *groups = NULL;
  int n = getgroups(0, NULL);
  if (n > 0) {
    groups = grow(NULL, (size_t)n * sizeof *groups);
    n = getgroups(n, groups);
  }
  block_add(out, text, (size_t)snprintf(text, sizeof text, "ids %u %u %u %u", getuid(), geteuid(), getgid(), getegid()));
  for (int i = 0; i < n; i++) block_add(out, text, (size_t)snprintf(text, sizeof text, "group %u", groups[i]));
  free(groups);
}

void identity(struct block *out, int words, char **line) {
  for (int i = 0; i < words; i++) block_add(out, line[i], strlen(line[i]));
  add_file(out, "image", line[words - 1]);
  add_mounts(out);
  add_ids(out);
  char *dir = getcwd(NULL, 0);
  block_add(out, dir ? dir : "", dir ? strlen(dir) : 0);
  free(dir);
  add_settings(out);
}

/* hash is FNV-1a (Fowler, Noll, Vo); the card's identity is compared in full. */
uint64_t hash(const struct block *b) {
  uint64_t h = 0xcbf29ce484222325;
  for (size_t i = 0; i < b->n; i++) h = (h ^ (unsigned char)b->p[i]) * 0x100000001b3;
  return h;
}
