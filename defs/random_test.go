package defs

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestRandomRecipes: 1,000 recipes of a seeded generator, well-formed and
// mangled. Each gives a definition that reads back, or faults with lines.
func TestRandomRecipes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	rendered := 0
	for i := range 1000 {
		doc := randomRecipe(rng)
		if i%4 == 3 {
			doc = mangle(rng, doc)
		}
		if check(t, fmt.Sprintf("recipe %d", i), doc) {
			rendered++
		}
	}
	if rendered < 250 || rendered > 900 {
		t.Errorf("%d of 1000 rendered: the generator does not try both sides", rendered)
	}
	t.Logf("%d of 1000 rendered, the others were refused with lines", rendered)
}

// check says whether the recipe rendered; what renders must read back as the
// sections that its recipe calls for.
func check(t *testing.T, name, doc string) bool {
	t.Helper()
	r, err := Decode(strings.NewReader(doc))
	if err != nil {
		lined(t, name, err)
		return false
	}
	d, err := Render(r)
	if err != nil {
		t.Fatalf("%s: Decode accepts what Render refuses: %v\n%.2000s", name, err, doc)
	}
	stages, err := Parse(strings.NewReader(d.Text))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if got, want := outline(stages), expected(r); got != want {
		t.Fatalf("%s: sections %s, want %s\n%.2000s", name, got, want, doc)
	}
	for _, s := range stages {
		for _, sec := range s.Sections {
			if sec.Name != "files" {
				shellWords(t, name, sec.Text)
			}
		}
	}
	return true
}

// outline names the stages and sections; one that was cut in two counts once.
func outline(stages []Stage) string {
	var out []string
	for _, s := range stages {
		out = append(out, "stage:"+s.Get("stage"))
		for _, sec := range s.Sections {
			if name := sec.Name + sec.Args; out[len(out)-1] != name {
				out = append(out, name)
			}
		}
	}
	return strings.Join(out, " ")
}

func expected(r Recipe) string {
	var out []string
	add := func(when bool, names ...string) {
		if when {
			out = append(out, names...)
		}
	}
	add(r.staged(), "stage:build")
	spack := r.Provider == ProviderSpack
	add(len(r.filesOf(StageBuild)) > 0 || spack && len(r.Spack.Repos) > 0, "files")
	add(r.staged(), "post", "stage:final")
	add(!r.staged(), "stage:")
	add(r.Probe || spack || len(r.Copy) > 0, "filesfrom build")
	add(len(r.filesOf(StageFinal)) > 0, "files")
	out = append(out, "post")
	hidden := families[r.Base.family()].software[r.Stack.MPI.Name].bin != ""
	add(len(r.Env) > 0 || len(r.Prepend) > 0 || hidden || spack, "environment")
	add(r.Runscript != nil, "runscript")
	return strings.Join(append(out, "test"), " ")
}

func pick[T any](rng *rand.Rand, list ...T) T { return list[rng.IntN(len(list))] }

// value is mostly harmless, now and then one of the hostile strings.
func value(rng *rand.Rand, benign ...string) string {
	if rng.IntN(25) > 0 {
		return quoteYAML(pick(rng, benign...))
	}
	v := pick(rng, hostile...)
	return quoteYAML(v[:min(len(v), 4096)])
}

// free is a value of a field that takes any text.
func free(rng *rand.Rand) string {
	v := pick(rng, append(hostile, "plain", "a b", "")...)
	v = v[:min(len(v), 4096)]
	if strings.ContainsAny(v, "\x00\a\r\u0085") && rng.IntN(8) > 0 {
		v = "plain"
	}
	return quoteYAML(v)
}

func quoteYAML(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r < ' ' || r == '"' || r == '\\' || r == 0x85 || r == 0x2028 {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return `"` + b.String() + `"`
}

func randomRecipe(rng *rand.Rand) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("name: %s", value(rng, "a", "open-mpi_5.0", "x1"))
	line("base: {from: docker, ref: %s}", value(rng, "debian:trixie-slim", "rockylinux:9", "opensuse/leap:15.6", "localhost/debian"))
	line("stack: {mpi: %s, %s: %s}", value(rng, "openmpi", "mpich", "openmpi@5.0"), pick(rng, "pmix", "ucx", "libfabric"), value(rng, "any", "5.0"))
	if rng.IntN(3) > 0 {
		line("probe: false")
	}
	some := func(chance int, f func()) {
		if rng.IntN(chance) == 0 {
			f()
		}
	}
	some(3, func() { line("description: %s", value(rng, "text", "it's")) })
	some(3, func() {
		line("packages: {build: [%s], runtime: [%s]}", value(rng, "g++", "make"), value(rng, "libgomp1"))
	})
	some(4, func() {
		line("files: [{from: %s, to: %s, stage: %s}]", value(rng, "src", "a b"), value(rng, "/opt/src"), pick(rng, "build", "final"))
	})
	for _, field := range []string{"build", "final", "test"} {
		some(2, func() {
			line("%s: [{run: [env, %s, %s]}, {script: %s}]", field, free(rng), free(rng), quoteYAML("true\n")[:1]+strings.TrimPrefix(free(rng), `"`))
		})
	}
	some(3, func() { line("copy: [%s]", value(rng, "/opt/app", "/usr/local/bin/x")) })
	some(2, func() { line("env: {A: %s, B_2: %s}", free(rng), free(rng)) })
	some(4, func() { line("prepend: {PATH: [%s]}", value(rng, "/opt/bin")) })
	some(3, func() { line("labels: {my.label: %s}", value(rng, "x", "it's {{ x }}")) })
	some(3, func() { line("runscript: %s", pick(rng, "["+value(rng, "app")+"]", quoteYAML("exec app \"$@\""))) })
	return b.String()
}

// mangle makes what editors and merges make.
func mangle(rng *rand.Rand, doc string) string {
	lines := strings.Split(doc, "\n")
	i, j := rng.IntN(len(lines)), rng.IntN(len(lines))
	switch rng.IntN(6) {
	case 0:
		lines[i] = "\t" + lines[i]
	case 1:
		lines = append(lines, lines[j])
	case 2:
		lines[i] = strings.Replace(lines[i], ":", "", 1)
	case 3:
		lines[i] = "  " + lines[i]
	case 4:
		cut := rng.IntN(len(doc) + 1)
		return doc[:cut]
	case 5:
		b := []byte(doc)
		b[rng.IntN(len(b))] = byte(rng.IntN(256))
		return string(b)
	}
	return strings.Join(lines, "\n")
}

func FuzzRecipe(f *testing.F) {
	for _, e := range Examples() {
		f.Add(e.Text)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		f.Add(randomRecipe(rng))
	}
	f.Fuzz(func(t *testing.T, doc string) { check(t, "recipe", doc) })
}

// FuzzParse: any text is stages or faults.
func FuzzParse(f *testing.F) {
	f.Add("Bootstrap: docker\nFrom: debian\n%post\n  true\n")
	f.Add("%post\n%files\nBootstrap: x\\\n y\n")
	f.Fuzz(func(t *testing.T, text string) {
		stages, err := Parse(strings.NewReader(text))
		if err != nil {
			lined(t, "definition", err)
		} else if len(stages) == 0 {
			t.Error("neither stages nor faults")
		}
	})
}
