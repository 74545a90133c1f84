package check_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/nearmetal/nearmetal/internal/check"
)

var update = flag.Bool("update", false, "rewrite golden files and docs/doctor.md")

const (
	page   = "../../docs/doctor.md"
	marker = "<!-- written by: go test ./internal/check -run TestPage -update -->\n"
)

// TestPage holds that the catalogue page is that of this catalogue.
func TestPage(t *testing.T) {
	old, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, found := strings.Cut(string(old), marker)
	if !found {
		t.Fatalf("%s lacks the marker", page)
	}
	var b bytes.Buffer
	if err := check.Page(&b, check.All()); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(page, []byte(head+marker+"\n"+b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if rest != "\n"+b.String() {
		t.Errorf("%s is not that of the catalogue; run: go test ./internal/check -run TestPage -update", page)
	}
}

func findings(t *testing.T, name string) []check.Finding {
	t.Helper()
	d, err := check.New(check.All())
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open("testdata/cases/" + name + "/log.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := d.Scan(f, "log.txt")
	if err != nil {
		t.Fatal(err)
	}
	return d.Run(check.Input{Signals: s})
}

// TestJSONForm holds the keys of the document, which others read.
func TestJSONForm(t *testing.T) {
	var b bytes.Buffer
	if err := check.JSON(&b, findings(t, "013")); err != nil {
		t.Fatal(err)
	}
	var doc map[string]json.RawMessage
	var list []map[string]json.RawMessage
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(doc["findings"], &list); err != nil || len(list) < 2 || string(doc["schema"]) != `"nearmetal/doctor/v1"` {
		t.Fatal(err, b.String())
	}
	for _, f := range list {
		for _, k := range []string{"code", "key", "severity", "title", "cause", "confidence", "evidence", "fix", "depends_on"} {
			if _, ok := f[k]; !ok {
				t.Errorf("no %q in %s", k, f["key"])
			}
		}
		if len(f) != 9 {
			t.Errorf("%d keys in %s, want 9", len(f), f["key"])
		}
	}
	b.Reset()
	if err := check.JSON(&b, nil); err != nil || !strings.Contains(b.String(), `"findings": []`) {
		t.Error("no findings are an empty list:", b.String(), err)
	}
}

func TestConsequencesComeBehindTheirCause(t *testing.T) {
	fs := findings(t, "013")
	if fs[0].Key != "ucx-posix-userns-denied" || fs[0].Consequence() || !fs[len(fs)-1].Consequence() {
		t.Errorf("%+v", fs)
	}
}

func TestNoiseIsNoAlarm(t *testing.T) {
	fs := findings(t, "044")
	if len(fs) == 0 || fs[0].Severity != check.Info || check.Alarm(fs) {
		t.Errorf("%+v", fs)
	}
	if !check.Alarm(findings(t, "013")) {
		t.Error("an error is no alarm")
	}
}

func TestForeignFormats(t *testing.T) {
	fs := findings(t, "013")
	var b bytes.Buffer
	if err := check.SARIF(&b, "1.0", fs); err != nil || !json.Valid(b.Bytes()) {
		t.Fatal(err, b.String())
	}
	for _, want := range []string{`"2.1.0"`, `"ruleId": "UCX001"`, `"startLine": 2`, `"level": "error"`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("SARIF lacks %s", want)
		}
	}
	b.Reset()
	if err := check.JUnit(&b, fs); err != nil {
		t.Fatal(err)
	}
	var suite struct {
		Failures int `xml:"failures,attr"`
		Cases    []struct {
			Name string `xml:"name,attr"`
		} `xml:"testcase"`
	}
	if err := xml.Unmarshal(b.Bytes(), &suite); err != nil || suite.Failures == 0 || len(suite.Cases) != len(fs) {
		t.Error(err, b.String())
	}
}

func TestTextAndExplain(t *testing.T) {
	var b bytes.Buffer
	if err := check.Text(&b, findings(t, "013"), check.TextStyle{Width: 60}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1. ERROR", "log.txt:2", "[user]", "What follows", "github.com/openucx/ucx/issues/4224"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("lacks %q:\n%s", want, b.String())
		}
	}
	d, _ := check.New(check.All())
	c, ok := d.Find("VRB001")
	if !ok || c.Key != "memlock-limit" {
		t.Fatal(c.Key)
	}
	b.Reset()
	if err := check.Explain(&b, c, check.TextStyle{}); err != nil || !strings.Contains(b.String(), "rlimit_memlock") {
		t.Error(err, b.String())
	}
}

// FuzzDoctor holds that no log and no context make the doctor panic.
func FuzzDoctor(f *testing.F) {
	d, err := check.New(check.All())
	if err != nil {
		f.Fatal(err)
	}
	for _, c := range []string{"001", "013", "061", "096", "098", "133"} {
		b, err := os.ReadFile("testdata/cases/" + c + "/log.txt")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, "mpirun efa slow")
	}
	f.Fuzz(func(t *testing.T, log []byte, context string) {
		s, _ := d.Scan(bytes.NewReader(log), "f")
		var b bytes.Buffer
		if err := check.JSON(&b, d.Run(check.Input{Signals: s, Context: context})); err != nil {
			t.Error(err)
		}
	})
}
