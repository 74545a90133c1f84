/* What Apptainer makes of an environment: it passes some variables on, sets
 * some from the image and from its own APPTAINERENV_ twins, and drops some. The
 * keeper was started by the very line that a rank has, so its environment
 * before and after shows it. Where a rank's own differs in a variable that may
 * have had a part in that, the answer is not known, and the caller takes a
 * container of its own. */
#define _GNU_SOURCE
#include "enter.h"

#include <ctype.h>
#include <string.h>

static bool word(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* identifier is what Apptainer's interpreter keeps as a variable. */
static bool identifier(const char *s, size_t n) {
  if (!n || isdigit((unsigned char)*s)) return false;
  for (size_t i = 0; i < n; i++)
    if (!word(s[i])) return false;
  return true;
}

static bool contains_word(const char *text, const char *name, size_t len) {
  const char *end = text + strlen(text);
  for (const char *s = text; (s = memmem(s, (size_t)(end - s), name, len)); s++)
    if ((s == text || !word(s[-1])) && !word(s[len])) return true;
  return false;
}

bool env_mentions(const struct block *scripts, const char *name, size_t len) {
  for (const char *s = NULL; len && (s = block_next(scripts, s));)
    if (contains_word(s, name, len)) return true;
  return false;
}

/* unsafe_line looks for what reads more than variables: commands, files, the
 * process itself. */
static bool unsafe_line(const char *s, size_t n) {
  static const char *const signs[] = {"$(", "`", "$$", "$!", "RANDOM", "SECONDS", "PPID", "BASHPID", "UID", "eval", "read ", "source", "<"};
  while (n && isspace((unsigned char)*s)) s++, n--;
  if (!n || *s == '#') return false;
  if (n > 1 && *s == '.' && isspace((unsigned char)s[1])) return true;
  for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
    if (memmem(s, n, signs[i], strlen(signs[i]))) return true;
  return memmem(s, n, "; . ", 4) || memmem(s, n, "&& . ", 5);
}

bool env_unsafe(const char *script) {
  for (const char *s = script; *s;) {
    size_t n = strcspn(s, "\n");
    if (unsafe_line(s, n)) return true;
    s += n + (s[n] != 0);
  }
  return false;
}

static bool equal(const char *a, const char *b) { return a == b || (a && b && !strcmp(a, b)); }

/* own_variables passes on what the rank has. */
static bool own_variables(const struct card *c, const struct block *host, struct block *out) {
  for (const char *s = NULL; (s = block_next(host, s));) {
    size_t n = name_length(s);
    const char *value = block_value(host, s, n), *was = block_value(&c->block[HOST], s, n);
    const char *became = block_value(&c->block[BOX], s, n);
    if (!value || s + n + 1 != value) continue; /* not an assignment, or a second one of the name */
    if (!equal(value, was) && (!identifier(s, n) || env_mentions(&c->block[SCRIPTS], s, n))) return false;
    if (was ? equal(was, became) : !became)
      block_add(out, s, strlen(s));
    else if (!equal(value, was))
      return false; /* set or dropped by Apptainer, and not the same before */
  }
  return true;
}

/* box_variables adds what Apptainer set. */
static bool box_variables(const struct card *c, const struct block *host, struct block *out) {
  for (const char *s = NULL; (s = block_next(&c->block[BOX], s));) {
    size_t n = name_length(s);
    const char *was = block_value(&c->block[HOST], s, n), *own = block_value(host, s, n);
    if (s[n] != '=') continue;
    if (!equal(own, was) && (!own && env_mentions(&c->block[SCRIPTS], s, n))) return false;
    if (was && !strcmp(was, s + n + 1)) continue; /* passed on: the rank's own counts */
    if (!equal(own, was)) return false;
    block_add(out, s, strlen(s));
  }
  return true;
}

bool env_merge(const struct card *c, const struct block *host, bool force, struct block *out, const char **why) {
  *why = "the image's environment scripts run commands: their result may differ from rank to rank";
  if (c->head.unsafe && !force) return false;
  *why = "a variable that the image's environment scripts read is not the same as when the shared container was started";
  return own_variables(c, host, out) && box_variables(c, host, out);
}
