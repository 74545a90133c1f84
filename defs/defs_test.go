package defs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sebdah/goldie/v2"
)

func golden(t *testing.T, name, got string) {
	t.Helper()
	goldie.New(t, goldie.WithFixtureDir("testdata"), goldie.WithNameSuffix(".golden")).Assert(t, name, []byte(got))
}

// source is the C text of the probe, which has its own tests.
var source = regexp.MustCompile(`(?s)    printf %s '(/\*|#).*?' >/tmp/nearmetal-probe/(\S+)`)

// joined is where the section grew too long, which depends on the probe's text.
var joined = regexp.MustCompile(`\n\n%post\n(    (?:printf %s '…'|set -x\n|mpicc|rm -r /tmp))`)

func TestRenderedDefinitions(t *testing.T) {
	files, err := filepath.Glob("testdata/recipes/*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		golden(t, strings.TrimSuffix(filepath.Base(file), ".yaml"), render(t, read(t, file)))
	}
	for _, e := range Examples() {
		golden(t, e.Name, render(t, e.Text))
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func render(t *testing.T, doc string) string {
	t.Helper()
	text, err := renderYAML(doc)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 { // maps have no order: the bytes must
		if again, _ := renderYAML(doc); again != text {
			t.Fatal("two renderings differ")
		}
	}
	tokens(t, "definition", text)
	text = source.ReplaceAllString(text, "    printf %s '…' >/tmp/nearmetal-probe/$2")
	return joined.ReplaceAllString(text, "\n$1")
}

func TestFaultsAreAllReported(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		_, err := renderYAML(read(t, file))
		lined(t, file, err)
		golden(t, strings.TrimSuffix(filepath.Base(file), ".yaml")+".faults", err.Error()+"\n")
	}
}

// TestDigestFollowsTheValues: the digest is the recipe's, not the file's.
func TestDigestFollowsTheValues(t *testing.T) {
	digest := func(doc string) string {
		r, err := Decode(strings.NewReader(doc))
		if err != nil {
			t.Fatal(err)
		}
		return r.Digest()
	}
	const doc = "name: a\nbase: {from: docker, ref: debian}\nstack: {mpi: openmpi, pmix: any}\n"
	if digest(doc) != digest("# remark\n"+strings.ReplaceAll(doc, "{from: docker, ref: debian}", "\n  ref: debian\n  from: 'docker'")) {
		t.Error("another spelling of the same recipe has another digest")
	}
	if digest(doc) == digest(strings.Replace(doc, "openmpi", "mpich", 1)) {
		t.Error("another stack has the same digest")
	}
}

func TestFilesHaveDigests(t *testing.T) {
	const doc = "name: a\nbase: {from: docker, ref: debian}\nstack: {mpi: openmpi}\nfiles:\n- {from: src, to: /opt/src}\n"
	load := func(fsys fs.FS) string {
		t.Helper()
		r, err := Load(fsys, "r.yaml")
		if err != nil {
			t.Fatal(err)
		}
		return r.Digest()
	}
	files := func(text string) fstest.MapFS {
		return fstest.MapFS{"r.yaml": {Data: []byte(doc)}, "src/a.c": {Data: []byte(text)}, "src/b/c.h": {Data: []byte("x")}}
	}
	one, again, two := load(files("one")), load(files("one")), load(files("two"))
	if one != again || one == two {
		t.Error("the digest does not follow the content of a folder")
	}
	_, err := Load(fstest.MapFS{"r.yaml": {Data: []byte(doc)}}, "r.yaml")
	lined(t, "missing file", err)
	pinned := strings.Replace(doc, "src, to", "src, sha256: "+strings.Repeat("0", 64)+", to", 1)
	_, err = Load(fstest.MapFS{"r.yaml": {Data: []byte(pinned)}, "src": {Data: []byte("x")}}, "r.yaml")
	lined(t, "other digest", err)
}

func TestParseBase(t *testing.T) {
	old := Base{From: "docker", Ref: "debian:trixie-slim"}
	for arg, want := range map[string]string{
		"docker:ubuntu:24.04":                             "docker:ubuntu:24.04",
		"localimage:/shared/bases/trixie":                 "localimage:/shared/bases/trixie",
		"debootstrap:trixie@https://m.example":            "debootstrap:trixie",
		"docker:debian@sha256:" + strings.Repeat("a", 64): "docker:debian@sha256:" + strings.Repeat("a", 64),
		"localimage:":          "",
		"trixie":               "",
		"docker:$(x)":          "",
		"localimage:/a\n%post": "",
		"debootstrap:trixie":   "",
	} {
		b, err := ParseBase(arg, old)
		if (err != nil) != (want == "") || err == nil && b.String() != want {
			t.Errorf("%q gives %v, %v", arg, b, err)
		}
	}
}

// TestRenderGuardsItself: a recipe made by a program is checked as well.
func TestRenderGuardsItself(t *testing.T) {
	_, err := Render(Recipe{Name: "a\n%post"})
	var fs Faults
	if !errors.As(err, &fs) || len(fs) < 4 {
		t.Error(err)
	}
}
