package lab

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nearmetal/nearmetal/internal/fail"
)

// Source is one package source of apt, of either format (sources.list(5)).
type Source struct {
	Types, URIs, Suites, Components []string
	SignedBy                        string
}

// parseList reads the one-line format: deb [options] uri suite component...
func parseList(r io.Reader) ([]Source, error) {
	var out []Source
	s := bufio.NewScanner(r)
	for n := 1; s.Scan(); n++ {
		line, _, _ := strings.Cut(s.Text(), "#")
		if strings.TrimSpace(line) == "" {
			continue
		}
		src, err := parseListLine(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		out = append(out, src)
	}
	return out, s.Err()
}

func parseListLine(line string) (Source, error) {
	var src Source
	kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	rest = strings.TrimSpace(rest)
	if strings.HasPrefix(rest, "[") {
		opts, after, ok := strings.Cut(rest[1:], "]")
		if !ok {
			return src, errors.New("options without a closing bracket")
		}
		for _, o := range strings.Fields(opts) {
			if v, ok := strings.CutPrefix(o, "signed-by="); ok {
				src.SignedBy = v
			}
		}
		rest = after
	}
	f := strings.Fields(rest)
	if len(f) < 2 {
		return src, fmt.Errorf("%q needs an address and a suite", kind)
	}
	src.Types, src.URIs, src.Suites, src.Components = []string{kind}, f[:1], f[1:2], f[2:]
	return src, nil
}

// parseDeb822 reads the format of .sources files (deb822(5)): stanzas of
// fields, continued by lines that begin with a blank.
func parseDeb822(r io.Reader) ([]Source, error) {
	var out []Source
	fields := map[string]string{}
	last := ""
	flush := func() {
		if len(fields) > 0 && !strings.EqualFold(strings.TrimSpace(fields["enabled"]), "no") {
			out = append(out, Source{strings.Fields(fields["types"]), strings.Fields(fields["uris"]),
				strings.Fields(fields["suites"]), strings.Fields(fields["components"]), strings.TrimSpace(fields["signed-by"])})
		}
		fields, last = map[string]string{}, ""
	}
	s := bufio.NewScanner(r)
	for n := 1; s.Scan(); n++ {
		line := s.Text()
		switch {
		case strings.HasPrefix(line, "#"):
		case strings.TrimSpace(line) == "":
			flush()
		case line[0] == ' ' || line[0] == '\t':
			if last == "" {
				return nil, fmt.Errorf("line %d: continues no field", n)
			}
			fields[last] += "\n" + strings.TrimSpace(line)
		default:
			name, value, ok := strings.Cut(line, ":")
			if !ok {
				return nil, fmt.Errorf("line %d: no field: %q", n, line)
			}
			last = strings.ToLower(strings.TrimSpace(name))
			fields[last] = value
		}
	}
	flush()
	return out, s.Err()
}

// Mirror is where the root filesystems come from.
type Mirror struct {
	URI     string
	Keyring string // file with the archive's keys
}

// debianKeyring is installed with debian-archive-keyring.
const debianKeyring = "/usr/share/keyrings/debian-archive-keyring.gpg"

// suites are names that mark an address as Debian's main archive.
var suites = []string{"stable", "testing", "unstable", "oldstable", "sid", "forky", "trixie", "bookworm", "bullseye", "buster"}

// pickMirror chooses the first source that carries a whole Debian suite.
func pickMirror(sources []Source) (Mirror, bool) {
	for _, s := range sources {
		if !slices.Contains(s.Types, "deb") || !slices.Contains(s.Components, "main") || len(s.URIs) == 0 {
			continue
		}
		if !slices.ContainsFunc(s.Suites, func(x string) bool { return slices.Contains(suites, x) }) {
			continue
		}
		if m := (Mirror{s.URIs[0], keyring(s.SignedBy)}); validMirror(m.URI) == nil {
			return m, true
		}
	}
	return Mirror{}, false
}

// keyring takes a source's own key file; embedded keys and fingerprints fall
// back to the distribution's.
func keyring(signedBy string) string {
	if strings.HasPrefix(signedBy, "/") && !strings.ContainsAny(signedBy, " \n,") {
		return signedBy
	}
	return debianKeyring
}

// validMirror refuses an address that a shell or an apt line could read as
// something else.
func validMirror(uri string) error {
	u, err := url.Parse(uri)
	switch {
	case err != nil:
		return err
	case !slices.Contains([]string{"http", "https", "file"}, u.Scheme):
		return fmt.Errorf("%q is not an http, https or file address", uri)
	case strings.ContainsAny(uri, " \t\n'\"`$\\;&|<>()[]"):
		return fmt.Errorf("%q has characters that do not belong in a mirror's address", uri)
	}
	return nil
}

// hostMirror reads the machine's own apt configuration below root.
func hostMirror(root string) (Mirror, error) {
	lists, _ := filepath.Glob(filepath.Join(root, "etc/apt/sources.list.d/*"))
	slices.Sort(lists)
	var all []Source
	for _, path := range append([]string{filepath.Join(root, "etc/apt/sources.list")}, lists...) {
		got, err := readSources(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return Mirror{}, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, got...)
	}
	m, ok := pickMirror(all)
	if !ok {
		return Mirror{}, fail.Missingf("nearmetal-lab up --mirror URL", "no Debian archive among the machine's apt sources")
	}
	return m, nil
}

func readSources(path string) ([]Source, error) {
	parse := parseList
	switch filepath.Ext(path) {
	case ".sources":
		parse = parseDeb822
	case ".list":
	default:
		return nil, nil // apt ignores it too
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return parse(f)
}
