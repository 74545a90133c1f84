package defs

import (
	"regexp"
	"strings"
)

// maxQuoted bounds one value as it stands in the definition. Apptainer reads a
// definition with a bufio.Scanner whose token, a whole section, may have 64 KiB
// (pkg/build/types/parser: scanDefinitionFile); the kernel takes 128 KiB in
// one argument (MAX_ARG_STRLEN).
const maxQuoted = 48 << 10

// stageStart is how Apptainer finds the stages of a definition: anywhere, in
// quotes and heredocs too (parser.All).
var stageStart = regexp.MustCompile(`(?i)^bootstrap:`)

// quote gives a word that a POSIX shell reads back as s, whatever s is. It
// also hides s from Apptainer's own reading of the definition: a line whose
// first word starts with % begins a section and `bootstrap:` a stage even
// inside quotes, so such a line gets an empty pair of quotes before it; {{ x }}
// is a build argument, so no two braces stay together. A quote goes between
// double quotes, not behind a backslash: the interpreter that reads
// %environment when a container starts (Apptainer 1.4.5) keeps the backslash.
func quote(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		l = strings.ReplaceAll(l, "'", `'"'"'`)
		for strings.Contains(l, "{{") {
			l = strings.ReplaceAll(l, "{{", "{''{")
		}
		if i > 0 && guarded(l) {
			l = "''" + l
		}
		lines[i] = l
	}
	return "'" + strings.Join(lines, "\n") + "'"
}

func guarded(line string) bool {
	return strings.HasPrefix(strings.TrimSpace(line), "%") || stageStart.MatchString(line)
}

// words quotes an argument vector; words that need no quotes get none.
func words(argv []string) string {
	out := make([]string, len(argv))
	for i, a := range argv {
		out[i] = word(a)
	}
	return strings.Join(out, " ")
}

var plain = regexp.MustCompile(`^[A-Za-z0-9_./+,:@-]+$`)

// word quotes s unless every shell reads it as it is.
func word(s string) string {
	if plain.MatchString(s) {
		return s
	}
	return quote(s)
}
