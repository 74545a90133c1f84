package image

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/nearmetal/nearmetal/internal/fail"
)

// keepBytes is how much of the end of a build's output is looked at when it
// fails.
const keepBytes = 256 << 10

// keeper passes output on and keeps its end.
type keeper struct {
	w    io.Writer
	last []byte
}

func (k *keeper) Write(b []byte) (int, error) {
	k.last = append(k.last, b...)
	if over := len(k.last) - keepBytes; over > keepBytes {
		k.last = append(k.last[:0], k.last[over:]...)
	}
	return k.w.Write(b)
}

func (k *keeper) text() string { return string(k.last) }

// full recognises a disk that is full or a quota that is used up (ENOSPC,
// EDQUOT), as the C library writes them.
func full(text string) bool {
	return strings.Contains(text, "No space left on device") || strings.Contains(text, "no space left on device") ||
		strings.Contains(text, "Disk quota exceeded") || strings.Contains(text, "disk quota exceeded")
}

// cause is a known end of a build, most telling first.
type cause struct {
	re   *regexp.Regexp
	what string // "" is the line itself
	hint string
}

var causes = []cause{
	{regexp.MustCompile(`(?i)no space left on device|disk quota exceeded`), "the disk is full", "df -h /tmp . ; other places: --tmpdir DIR (temporary files), -o DIR/IMG.sif (image)"},
	{regexp.MustCompile(`^nearmetal: (.*)`), "", "change stack: in the recipe, or take another base: --base"},
	{regexp.MustCompile(`^E: Unable to locate package .*`), "", "correct the name under packages: in the recipe"},
	{regexp.MustCompile(`^E: .*is not valid yet|^E: Release file .* (is expired|expired)`), "", "the clock or the mirror is wrong: date"},
	{regexp.MustCompile(`(?i)temporary failure resolving|could not resolve|Temporary failure in name resolution`), "no name service: the package mirror or registry cannot be reached", "getent hosts NAME; without a network: --base localimage:/path/of/a/root with the packages or a local mirror in it"},
	{regexp.MustCompile(`(?i)connection refused|network is unreachable|i/o timeout`), "the network refuses: the package mirror or registry cannot be reached", "without a registry: --base localimage:/path/of/a/root"},
	{regexp.MustCompile(`(?i)Requesting capability set`), "Apptainer needs a capability that this machine withholds from root", "build as an ordinary user"},
	{regexp.MustCompile(`(?i)failed to unshare|user namespace|newuidmap|set your user in /etc/subuid`), "", "nearmetal doctor; user namespaces: sysctl user.max_user_namespaces; ids: grep $USER /etc/subuid"},
}

// noise are lines that say nothing about a failure.
var noise = regexp.MustCompile(`^(\+ |Get:\d|Hit:|Selecting previously|Preparing to unpack|Unpacking |Setting up |\(Reading database|Processing triggers|update-alternatives|Reading (package lists|state)|Building dependency|Fetched |Need to get |After this operation|\d+ upgraded|The following |Suggested packages|Recommended packages|  \S|\s*$)`)

// explain makes the error of a failed build: the known cause where there is
// one, the last lines that are no noise, and where the whole log is.
func explain(s Spec, text string, code int) error {
	all := splitLines(text)
	lines := slices.DeleteFunc(slices.Clone(all), noise.MatchString)
	what, hint := fmt.Sprintf("%s build failed (exit status %d)", s.Program, code), "read "+s.LogPath()
	if tested(lines) {
		what, hint = "the image was made, but its %test failed: MPI does not start in it, or a test of the recipe fails", "nearmetal build --no-test keeps the image; then: apptainer test IMG.sif"
	} else if c, line, ok := known(all); ok {
		what, hint = what+": "+c.what, c.hint
		if c.what == "" {
			what += strings.TrimPrefix(line, "nearmetal: ")
		}
	}
	const shown = 12
	if len(lines) > shown {
		lines = lines[len(lines)-shown:]
	}
	return fail.New(fail.Failed, hint, "%s\n  %s\nthe whole log: %s", what, strings.Join(lines, "\n  "), s.LogPath())
}

// tested says whether the build ended in %test, the last thing before the
// image is written.
func tested(lines []string) bool {
	for i := len(lines) - 1; i >= 0; i-- {
		switch {
		case strings.Contains(lines[i], "Creating SIF file"):
			return false
		case strings.Contains(lines[i], "Running testscript"):
			return true
		}
	}
	return false
}

func known(lines []string) (cause, string, bool) {
	for _, c := range causes {
		for i := len(lines) - 1; i >= 0; i-- {
			if c.re.MatchString(lines[i]) {
				return c, lines[i], true
			}
		}
	}
	return cause{}, "", false
}

// splitLines takes the colours off; of a line that was drawn over (\r), what
// stood last is left.
func splitLines(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		line = ansi.ReplaceAllString(line[strings.LastIndexByte(line, '\r')+1:], "")
		out = append(out, strings.ToValidUTF8(line, "?"))
	}
	return out
}

// ansi are the colours that Apptainer writes.
var ansi = regexp.MustCompile("\x1b\\[[0-9;]*m")
