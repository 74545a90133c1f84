package defs

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Validate gives everything wrong with a recipe; Decode and Render call it.
func Validate(r Recipe) Faults {
	c := &checker{lines: r.lines}
	c.head(r)
	c.base(r.Base)
	c.stack(r)
	c.spack(r)
	c.packages(r.Packages)
	c.files(r.Files)
	c.copies(r.Copy)
	c.steps("build", r.Build)
	c.steps("final", r.Final)
	c.steps("test", r.Test)
	c.environment(r)
	c.labels(r.Labels)
	if r.Runscript != nil {
		c.step("runscript", *r.Runscript)
	}
	return c.faults
}

type checker struct {
	lines  map[string]int
	faults Faults
}

func (c *checker) fault(field, format string, args ...any) {
	c.faults = append(c.faults, Fault{c.line(field), field, fmt.Sprintf(format, args...)})
}

// line gives where field stands, or the nearest thing around it.
func (c *checker) line(field string) int {
	for field != "" {
		if n, ok := c.lines[field]; ok {
			return n
		}
		field = field[:max(strings.LastIndexAny(field, ".["), 0)]
	}
	if c.lines == nil { // not from a file
		return 0
	}
	return max(c.lines[""], 1)
}

// Patterns of what goes into a definition as it is. None of them has a blank
// line start, a quote, a $ or a % at its beginning.
var (
	nameRE    = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)
	refRE     = regexp.MustCompile(`^[a-z0-9]([a-z0-9._/:-]|[A-Z0-9_.-]){0,254}$`)
	digestRE  = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	hexRE     = regexp.MustCompile(`^[0-9a-f]{64}$`)
	suiteRE   = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{0,63}$`)
	mirrorRE  = regexp.MustCompile(`^(https?|file)://[A-Za-z0-9._~:/@+-]{1,254}$`)
	packageRE = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9+._:~=^-]{0,199}$`)
	versionRE = regexp.MustCompile(`^[0-9][A-Za-z0-9.+~]{0,31}$`)
	envRE     = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)
	labelRE   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]{0,127}$`)
)

// match faults a value that is not as re wants; what describes the form.
func (c *checker) match(field, value string, re *regexp.Regexp, what string) {
	if !re.MatchString(value) {
		c.fault(field, "\"%s\" is not %s", clip(value), what)
	}
}

// text faults a value that cannot arrive literally.
func (c *checker) text(field, s string) {
	if len(s) > maxQuoted || len(quote(s)) > maxQuoted {
		c.fault(field, "%d bytes; Apptainer takes at most 64 KiB in a section, so a value may have about %d KiB: put it into a file and name it under files:", len(s), maxQuoted>>10)
		return
	}
	if !utf8.ValidString(s) {
		c.fault(field, "\"%s\" is not UTF-8", clip(s))
	}
	for _, r := range s {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			c.fault(field, "control character %U in \"%s\": it would not arrive as it is", r, clip(s))
			return
		}
	}
}

// path faults what Apptainer would not copy literally: it reads a path in
// %files as a shell would, with globs, $ and quotes (files.expandPath).
func (c *checker) path(field, p string, absolute bool) {
	switch {
	case p == "":
		c.fault(field, "a path is needed")
	case len(p) > 1024:
		c.fault(field, "\"%s\" is too long for a path", clip(p))
	case strings.IndexFunc(p, oddInPath) >= 0:
		c.fault(field, "\"%s\": a path may have letters, digits, blanks and . _ / @ + , = : ~ - only (Apptainer expands the rest)", clip(p))
	case strings.TrimSpace(p) != p:
		c.fault(field, "\"%s\" begins or ends with a blank", clip(p))
	case path.IsAbs(p) != absolute:
		c.fault(field, "\"%s\": %s", clip(p), map[bool]string{true: "an absolute path is needed", false: "a path beside the recipe is needed, not an absolute one"}[absolute])
	case path.Clean(p) != strings.TrimSuffix(strings.TrimPrefix(p, "./"), "/") || path.Clean(p) == "/" || strings.HasPrefix(path.Clean(p), ".."):
		c.fault(field, "\"%s\": no .. or // in a path, and not the root or the recipe's own folder", clip(p))
	}
}

func oddInPath(r rune) bool {
	return !strings.ContainsRune("._/@+,=: ~-", r) && !(r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r))) && !(r >= 0x80 && unicode.In(r, unicode.L, unicode.N))
}

func (c *checker) head(r Recipe) {
	c.match("name", r.Name, nameRE, "a name: small letters, digits, . _ - (at most 64)")
	c.oneLine("description", r.Description)
	if r.Provider != ProviderDistro && r.Provider != ProviderSpack {
		c.fault("provider", "provider \"%s\" is not known; known: distro, spack", clip(r.Provider))
	}
}

// oneLine faults what a label cannot hold: Apptainer cuts labels at line ends
// and trims them (parser.GetLabels).
func (c *checker) oneLine(field, s string) {
	c.text(field, s)
	if len(s) <= maxQuoted && strings.Contains(s, "\n") || strings.TrimSpace(s) != s {
		c.fault(field, "\"%s\": a label is one line without blanks at its ends", clip(s))
	}
}

func (c *checker) packages(p Packages) {
	for field, list := range map[string][]string{"packages.build": p.Build, "packages.runtime": p.Runtime} {
		for i, name := range list {
			c.match(fmt.Sprintf("%s[%d]", field, i), name, packageRE, "a package's name")
		}
	}
}

func (c *checker) files(files []File) {
	for i, f := range files {
		at := fmt.Sprintf("files[%d]", i)
		c.path(at+".from", f.From, false)
		c.path(at+".to", f.To, true)
		if f.Stage != StageBuild && f.Stage != StageFinal {
			c.fault(at+".stage", "\"%s\" is not build or final", clip(f.Stage))
		}
		if f.SHA256 != "" {
			c.match(at+".sha256", f.SHA256, hexRE, "a SHA-256 in 64 hexadecimal digits")
		}
	}
}

func (c *checker) copies(copies []Copy) {
	for i, cp := range copies {
		at := fmt.Sprintf("copy[%d]", i)
		c.path(at+".from", cp.From, true)
		c.path(at+".to", cp.To, true)
	}
}

func (c *checker) steps(field string, steps []Step) {
	for i, s := range steps {
		c.step(fmt.Sprintf("%s[%d]", field, i), s)
	}
}

func (c *checker) step(field string, s Step) {
	if (len(s.Argv) == 0) == (s.Script == "") {
		c.fault(field, "either run: (a list of words) or script: (text) is needed")
	}
	if len(s.Argv) > 0 && (s.Argv[0] == "" || strings.Contains(s.Argv[0], "=")) {
		c.fault(field, "\"%s\" is no program's name: it is empty or has a = (env(1) would set a variable)", clip(s.Argv[0]))
	}
	before := len(c.faults)
	for _, a := range s.Argv {
		c.text(field, a)
	}
	c.text(field, s.Script)
	if n := len(words(s.Argv)); n > maxQuoted && len(c.faults) == before {
		c.fault(field, "%d bytes in one command; at most %d KiB fit", n, maxQuoted>>10)
	}
}

func (c *checker) environment(r Recipe) {
	for _, name := range sortedKeys(r.Env) {
		c.match("env."+name, name, envRE, "a variable's name")
		c.text("env."+name, r.Env[name])
	}
	seen := map[string]bool{}
	for _, p := range r.Prepend {
		at := "prepend." + p.Name
		c.match(at, p.Name, envRE, "a variable's name")
		if _, twice := r.Env[p.Name]; twice || seen[p.Name] {
			c.fault(at, "%s is set twice (env: and prepend:)", clip(p.Name))
		}
		seen[p.Name] = true
		for i, dir := range p.Dirs {
			c.path(fmt.Sprintf("%s[%d]", at, i), dir, true)
			if strings.Contains(dir, ":") {
				c.fault(fmt.Sprintf("%s[%d]", at, i), "\"%s\": a colon separates directories", clip(dir))
			}
		}
	}
}

func (c *checker) labels(labels map[string]string) {
	for _, name := range sortedKeys(labels) {
		at := "labels." + name
		c.match(at, name, labelRE, "a label's name: letters, digits, . _ / -")
		if strings.HasPrefix(name, labelPrefix) {
			c.fault(at, "%s… are nearmetal's own labels", labelPrefix)
		}
		c.oneLine(at, labels[name])
	}
}
