package site

import (
	"reflect"
	"strings"
	"testing"

	"github.com/nearmetal/nearmetal/internal/fail"
)

func TestParseSettings(t *testing.T) {
	got, err := ParseSettings(strings.NewReader("partition: c\naccount: a\nqos: q\nmpi: pmix\nbinds: [/x, \"/y:/z:ro\"]\nscratch: /l\nmodules: [m]\nsrun: ['--mem=0']\n"), "site.yaml")
	want := Settings{"c", "a", "q", "pmix", []string{"/x", "/y:/z:ro"}, "/l", []string{"m"}, []string{"--mem=0"}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := ParseSettings(strings.NewReader(""), "x"); err != nil || !reflect.DeepEqual(got, Settings{}) {
		t.Errorf("an empty file: %+v, %v", got, err)
	}
}

func TestParseSettingsRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"partition: c\nacount: x\n": "site.yaml:2: field acount not found",
		"binds: 7\n":                "site.yaml:1: cannot unmarshal",
		"partition: [a\n":           "site.yaml:",
		"- a\n":                     "site.yaml:1: ",
	} {
		if _, err := ParseSettings(strings.NewReader(text), "site.yaml"); err == nil || !strings.Contains(err.Error(), want) || fail.Code(err) != fail.Usage {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzParseSettings(f *testing.F) {
	f.Add("partition: compute\nbinds: [/a]\n")
	f.Add("- 1")
	f.Add("a: &a [*a]")
	f.Fuzz(func(_ *testing.T, text string) { _, _ = ParseSettings(strings.NewReader(text), "site.yaml") })
}
