package defs

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
)

// hostile are values that break naive renderers: of shells, of Apptainer's
// sections, stages and build arguments, of YAML.
var hostile = []string{
	`it's`, `say "hi"`, "`touch /tmp/pwned`", `$(touch /tmp/pwned)`, `$HOME ${PATH}`,
	"a\n%post\n    touch /tmp/pwned", "%post", "x\n   %files\n/etc/passwd /x", "a\nBootstrap: docker\nFrom: evil", "bootstrap: docker",
	`{{ secret }}`, `{{{{x}}}}`, "a\n", "\na", " lead", "trail ", "\t", `\`, `a\`, `\n`,
	"nul\x00byte", "bell\a\x1b[31mred", "cr\r\nlf", "--force", "a;touch /tmp/pwned", "a && false || true",
	"'; touch /tmp/pwned; '", "EOF\n", "日本語 ünïcode", "\u2028line\u0085sep", "# comment", "a # b",
	"../../../etc/passwd", "*", "~root", strings.Repeat("A", 10<<20), strings.Repeat("'", 1<<20),
}

// field is one place of a recipe that takes a value.
type field struct {
	name   string
	benign string // valid there, and found nowhere else
	yaml   func(v any) map[string]any
}

func with(path string, benign string) field {
	return field{path, benign, func(v any) map[string]any {
		parts := strings.Split(path, "/")
		for i := len(parts) - 1; i > 0; i-- {
			if parts[i] == "-" {
				v = []any{v}
			} else {
				v = map[string]any{parts[i]: v}
			}
		}
		return map[string]any{parts[0]: v}
	}}
}

func keyed(path string, benign string) field {
	return field{path + "/KEY", benign, func(v any) map[string]any { return map[string]any{path: map[string]any{v.(string): "1"}} }}
}

func pair(path, one, fixed, other, benign string) field {
	return field{path + "/" + one, benign, func(v any) map[string]any {
		return map[string]any{path: []any{map[string]any{one: v, other: fixed}}}
	}}
}

var fields = []field{
	with("name", "zq7name"),
	with("description", "zq7value"),
	with("base/from", "docker"),
	field{"base/ref", "zq7ref", func(v any) map[string]any { return base("docker", "ref", v) }},
	field{"base/path", "/zq7path", func(v any) map[string]any { return base("localimage", "path", v) }},
	field{"base/suite", "zq7suite", func(v any) map[string]any { return base("debootstrap", "suite", v) }},
	field{"base/mirror", "https://zq7mirror", func(v any) map[string]any { return base("debootstrap", "mirror", v) }},
	with("provider", "distro"),
	with("stack/mpi", "openmpi"),
	field{"stack/pmix", "5.97", func(v any) map[string]any {
		return map[string]any{"stack": map[string]any{"mpi": "openmpi", "pmix": v}}
	}},
	field{"stack/driver", "999.97", func(v any) map[string]any {
		return map[string]any{"stack": map[string]any{"mpi": "openmpi", "driver": v}}
	}},
	spackField("version", "1.97", plainly),
	spackField("git", "https://zq7git", plainly),
	spackField("ref", "zq7ref", plainly),
	spackField("target", "zq7target", plainly),
	spackField("compiler", "zq7cc", plainly),
	spackField("specs", "zq7spec", listed),
	spackField("repos", "zq7repo", listed),
	spackField("variants", "+zq7", func(v any) any { return map[string]any{"openmpi": v} }),
	spackField("mirrors", "https://zq7mirror", func(v any) any { return map[string]any{"ours": v} }),
	spackField("external", "/zq7", func(v any) any { return map[string]any{"gmake@4.3": v} }),
	with("packages/build/-", "zq7package"),
	with("packages/runtime/-", "zq7package"),
	pair("files", "from", "/opt/fixed", "to", "zq7file"),
	pair("files", "to", "fixed", "from", "/zq7file"),
	pair("copy", "from", "/opt/fixed", "to", "/zq7copy"),
	pair("copy", "to", "/opt/fixed", "from", "/zq7copy"),
	with("copy/-", "/zq7copy"),
	with("build/-/run/-", "zq7program"),
	field{"build/-/run/1", "zq7argument", func(v any) map[string]any {
		return map[string]any{"build": []any{map[string]any{"run": []any{"echo", v}}}}
	}},
	with("build/-/script", "zq7script"),
	with("final/-/script", "zq7script"),
	with("test/-/script", "zq7script"),
	field{"final/-/run/1", "zq7argument", func(v any) map[string]any {
		return map[string]any{"final": []any{map[string]any{"run": []any{"echo", v}}}}
	}},
	with("env/NAME", "zq7value"),
	keyed("env", "ZQ7NAME"),
	with("prepend/PATH/-", "/zq7dir"),
	field{"prepend/KEY", "ZQ7NAME", func(v any) map[string]any {
		return map[string]any{"prepend": map[string]any{v.(string): []any{"/opt/x"}}}
	}},
	with("labels/my.label", "zq7value"),
	keyed("labels", "zq7label"),
	with("runscript", "zq7script"),
	with("runscript/-", "zq7program"),
}

func plainly(v any) any { return v }

func listed(v any) any { return []any{v} }

func spackField(name, benign string, shape func(any) any) field {
	return field{"spack/" + name, benign, func(v any) map[string]any {
		s := map[string]any{"version": "0.23"}
		s[name] = shape(v)
		return map[string]any{"provider": "spack", "spack": s}
	}}
}

func base(from, key string, v any) map[string]any {
	b := map[string]any{"from": from, key: v, "distro": "debian"}
	if from == "debootstrap" {
		for _, k := range []string{"suite", "mirror"} {
			if k != key {
				b[k] = map[string]string{"suite": "trixie", "mirror": "https://mirror.example.org/debian"}[k]
			}
		}
	}
	return map[string]any{"base": b}
}

// document lays the field over the smallest recipe.
func document(f field, v string) string {
	doc := map[string]any{
		"name":  "small",
		"base":  map[string]any{"from": "docker", "ref": "debian:trixie-slim"},
		"stack": map[string]any{"mpi": "openmpi"},
		"probe": false,
	}
	for k, val := range f.yaml(v) {
		if k == "base" && f.name == "base/from" {
			val = map[string]any{"from": v, "ref": "debian:trixie-slim"}
		}
		doc[k] = val
	}
	b, err := json.MarshalIndent(doc, "", "  ") // every JSON text is YAML
	if err != nil {
		panic(err)
	}
	return string(b)
}

// TestHostileValues puts each hostile string into each field: the recipe is
// refused with a line, or the definition reads back, by Apptainer's rules and
// by a shell's, as that of a harmless value with the value put in its place.
func TestHostileValues(t *testing.T) {
	if len(hostile) < 30 {
		t.Fatalf("only %d hostile strings", len(hostile))
	}
	arrived := 0
	for n, f := range fields {
		want := tokens(t, f.name, mustRender(t, f, f.benign))
		for i, v := range hostile {
			if len(v) >= 1<<20 && n%20 != 0 {
				continue // the size is refused by one function: three fields will do
			}
			text, err := renderYAML(document(f, v))
			if err != nil {
				lined(t, f.name, err)
				continue
			}
			arrived++
			same(t, fmt.Sprintf("%s with hostile[%d] %.30q", f.name, i, v), want, tokens(t, f.name, text), f.benign, v)
		}
	}
	if arrived < 150 {
		t.Errorf("only %d of %d values arrived: too much is refused", arrived, len(fields)*len(hostile))
	}
	t.Logf("%d fields × %d strings: %d arrived, the others were refused with a line", len(fields), len(hostile), arrived)
}

// TestProbeIsAFlag: the one field that takes no text.
func TestProbeIsAFlag(t *testing.T) {
	for _, v := range hostile {
		f := field{"probe", "", func(any) map[string]any { return map[string]any{"probe": v} }}
		_, err := renderYAML(document(f, v))
		lined(t, "probe", err)
	}
}

func mustRender(t *testing.T, f field, v string) string {
	t.Helper()
	text, err := renderYAML(document(f, v))
	if err != nil {
		t.Fatalf("%s: the harmless value is refused: %v", f.name, err)
	}
	return text
}

func renderYAML(doc string) (string, error) {
	r, err := Decode(strings.NewReader(doc))
	if err != nil {
		return "", err
	}
	d, err := Render(r)
	return d.Text, err
}

// lined holds every refusal to a clear text with a line of the file.
func lined(t *testing.T, name string, err error) {
	t.Helper()
	var fs Faults
	if !errors.As(err, &fs) || len(fs) == 0 {
		t.Fatalf("%s: %T %v is no Faults", name, err, err)
	}
	for _, f := range fs {
		if f.Line < 1 || f.Msg == "" || len(f.String()) > 600 || strings.ContainsAny(f.String(), "\n\r\x00\x1b") {
			t.Errorf("%s: unclear fault %+.200q", name, f)
		}
	}
}

func same(t *testing.T, name string, want, got []string, benign, v string) {
	t.Helper()
	if len(want) != len(got) {
		t.Errorf("%s: %d tokens, the harmless value gives %d\n%.2000q", name, len(got), len(want), got)
		return
	}
	for i := range want {
		if w := strings.ReplaceAll(want[i], benign, v); w != got[i] {
			t.Errorf("%s: token %d is %.200q, not %.200q", name, i, got[i], w)
		}
	}
}

var anyDigest = regexp.MustCompile(`sha256:[0-9a-f]{64}`)

// tokens is a definition as its readers see it: headers, section names, the
// lines of %files, and the words of every script after the shell's unquoting.
func tokens(t *testing.T, name, text string) []string {
	t.Helper()
	stages, err := Parse(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var out []string
	for _, s := range stages {
		for _, h := range s.Header {
			out = append(out, h.Key+"="+h.Value)
		}
		for _, sec := range s.Sections {
			out = append(out, "%"+sec.Name+" "+sec.Args)
			if sec.Name == "files" {
				out = append(out, strings.Split(strings.TrimSpace(sec.Text), "\n")...)
			} else {
				out = append(out, shellWords(t, name, sec.Text)...)
			}
		}
	}
	if strings.Contains(text, "{{") {
		t.Errorf("%s: a build argument in the definition", name)
	}
	for i := range out {
		out[i] = anyDigest.ReplaceAllString(out[i], "DIGEST")
	}
	return out
}

func shellWords(t *testing.T, name, script string) []string {
	t.Helper()
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(script), name)
	if err != nil {
		t.Fatalf("%s: the script does not parse: %v", name, err)
	}
	var out []string
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Word:
			out = append(out, literal(n))
		case *syntax.Assign:
			if n.Name != nil {
				out = append(out, "assign "+n.Name.Value)
			}
		case *syntax.Redirect:
			out = append(out, "redirect "+n.Op.String())
		case *syntax.CmdSubst:
			out = append(out, "substitution")
		}
		return true
	})
	return out
}

// literal is a word without its quotes; what is expanded keeps its source.
func literal(w *syntax.Word) string {
	var b strings.Builder
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.Lit:
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			if len(p.Parts) == 1 && isQuote(p.Parts[0]) {
				b.WriteString("'")
				continue
			}
			_ = syntax.NewPrinter().Print(&b, p)
		default:
			_ = syntax.NewPrinter().Print(&b, p)
		}
	}
	return b.String()
}

func isQuote(p syntax.WordPart) bool {
	lit, ok := p.(*syntax.Lit)
	return ok && lit.Value == "'"
}
