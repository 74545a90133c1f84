package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDeb822(t *testing.T) {
	f, err := os.Open("testdata/bookworm.sources")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got, err := parseDeb822(f)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 {
		t.Fatalf("%d sources, want 2: %+v", len(got), got)
	}
	m, ok := pickMirror(got)
	if !ok || m.URI != "http://mirror.example/debian" || m.Keyring != debianKeyring {
		t.Errorf("mirror %+v %v", m, ok)
	}
}

func TestDeb822Variants(t *testing.T) {
	cases := map[string]struct{ text, uri string }{
		"disabled":       {"Types: deb\nURIs: http://a/debian\nSuites: trixie\nComponents: main\nEnabled: no\n", ""},
		"case, folded":   {"types: deb\nuris:\n http://a/debian\n http://b/debian\nsuites: trixie\ncomponents:\tmain contrib", "http://a/debian"},
		"security only":  {"Types: deb\nURIs: http://a/s\nSuites: trixie-security\nComponents: main\n", ""},
		"source only":    {"Types: deb-src\nURIs: http://a/s\nSuites: trixie\nComponents: main\n", ""},
		"after comments": {"# x\n\n# y\nTypes: deb\n# z\nURIs: https://a/d\nSuites: sid\nComponents: main\n", "https://a/d"},
		"embedded key":   {"Types: deb\nURIs: http://a/d\nSuites: sid\nComponents: main\nSigned-By:\n -----BEGIN\n .\n -----END\n", "http://a/d"},
		"hostile":        {"Types: deb\nURIs: http://a/$(id)\nSuites: sid\nComponents: main\n", ""},
	}
	for name, c := range cases {
		got, err := parseDeb822(strings.NewReader(c.text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		m, ok := pickMirror(got)
		if m.URI != c.uri || ok != (c.uri != "") {
			t.Errorf("%s: mirror %q, want %q", name, m.URI, c.uri)
		}
		if ok && m.Keyring != debianKeyring {
			t.Errorf("%s: keyring %q", name, m.Keyring)
		}
	}
}

func TestOneLineFormat(t *testing.T) {
	text := `# comment
deb-src http://a/debian trixie main
deb [arch=amd64 signed-by=/etc/apt/k.gpg] http://a/debian trixie main contrib # end
deb https://b/apt cloud-sdk-bookworm main
`
	got, err := parseList(strings.NewReader(text))
	if err != nil || len(got) != 3 {
		t.Fatalf("%v, %d sources", err, len(got))
	}
	m, ok := pickMirror(got)
	if !ok || m != (Mirror{"http://a/debian", "/etc/apt/k.gpg"}) {
		t.Errorf("mirror %+v %v", m, ok)
	}
}

func TestBrokenSourcesNameTheLine(t *testing.T) {
	_, err := parseList(strings.NewReader("\ndeb [x http://a trixie main\n"))
	if err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("list: %v", err)
	}
	for _, text := range []string{"Types: deb\nnonsense\n", "# x\n continued\n"} {
		if _, err := parseDeb822(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("deb822 %q: %v", text, err)
		}
	}
}

func TestHostMirror(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "etc/apt/sources.list.d")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := hostMirror(root); err == nil {
		t.Error("a machine without sources has a mirror")
	}
	write(t, filepath.Join(dir, "a.list.save"), "garbage")
	write(t, filepath.Join(dir, "z.sources"), "Types: deb\nURIs: http://z/debian\nSuites: bookworm\nComponents: main\n")
	m, err := hostMirror(root)
	if err != nil || m.URI != "http://z/debian" {
		t.Errorf("%+v %v", m, err)
	}
	write(t, filepath.Join(root, "etc/apt/sources.list"), "deb http://first/debian bookworm main\n")
	if m, _ := hostMirror(root); m.URI != "http://first/debian" {
		t.Errorf("sources.list comes first, got %+v", m)
	}
}

func TestMirrorIsRefused(t *testing.T) {
	for _, bad := range []string{"", "ftp://x/y", "http://x/'y", "http://x/ y", "http://x/`id`", "http://x/\ny", "http://x/;y", "-rf", "http://x/$y"} {
		if validMirror(bad) == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func FuzzSources(f *testing.F) {
	seed, err := os.ReadFile("testdata/bookworm.sources")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(seed))
	f.Add("deb [signed-by=/k] http://a trixie main\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, parse := range []func() ([]Source, error){
			func() ([]Source, error) { return parseList(strings.NewReader(text)) },
			func() ([]Source, error) { return parseDeb822(strings.NewReader(text)) },
		} {
			got, err := parse()
			if err != nil && got != nil {
				t.Error("sources and an error")
			}
			if m, ok := pickMirror(got); ok && strings.ContainsAny(m.URI, "'\n $`") {
				t.Errorf("mirror %q", m.URI)
			}
		}
	})
}
