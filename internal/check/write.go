package check

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// JSON writes the document of schema nearmetal/doctor/v1, best finding first.
func JSON(w io.Writer, fs []Finding) error {
	doc := Document{Schema: Schema, Findings: make([]Finding, 0, len(fs))}
	for _, f := range fs {
		if f.Evidence == nil {
			f.Evidence = []Evidence{}
		}
		if f.DependsOn == nil {
			f.DependsOn = []string{}
		}
		doc.Findings = append(doc.Findings, f)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(doc)
}

// SARIF writes the findings as a SARIF 2.1.0 log (OASIS), as code hosts show it.
func SARIF(w io.Writer, version string, fs []Finding) error {
	type m = map[string]interface{}
	rules, results := []m{}, []m{}
	for i, f := range fs {
		rules = append(rules, m{
			"id": f.Code, "name": f.Key, "shortDescription": m{"text": f.Title}, "fullDescription": m{"text": f.Cause},
			"help": m{"text": fixText(f)}, "helpUri": f.Source,
		})
		results = append(results, m{
			"ruleId": f.Code, "ruleIndex": i, "level": sarifLevel(f.Severity),
			"message": m{"text": f.Title + ". " + f.Cause}, "locations": sarifLocations(f.Evidence),
		})
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(m{
		"version": "2.1.0", "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
		"runs": []m{{"tool": m{"driver": m{"name": "nearmetal doctor", "version": version, "rules": rules}}, "results": results}},
	})
}

func sarifLevel(s Severity) string {
	if s == Info {
		return "note"
	}
	return string(s)
}

func sarifLocations(ev []Evidence) []map[string]interface{} {
	out := []map[string]interface{}{}
	for _, e := range ev {
		where := map[string]interface{}{"artifactLocation": map[string]string{"uri": e.File}}
		if e.Line > 0 {
			where["region"] = map[string]interface{}{"startLine": e.Line, "snippet": map[string]string{"text": e.Text}}
		}
		out = append(out, map[string]interface{}{"physicalLocation": where})
	}
	return out
}

type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Failure *junitFailure `xml:"failure,omitempty"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

// JUnit writes each finding as a test case; warnings and errors fail.
func JUnit(w io.Writer, fs []Finding) error {
	s := junitSuite{Name: "nearmetal doctor", Tests: len(fs)}
	for _, f := range fs {
		c := junitCase{Class: "doctor." + f.Code, Name: f.Key}
		if f.Severity != Info {
			s.Failures++
			c.Failure = &junitFailure{Message: f.Title, Type: string(f.Severity), Text: f.Cause + "\n" + evidenceText(f) + fixText(f)}
		}
		s.Cases = append(s.Cases, c)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(s); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func evidenceText(f Finding) string {
	var b strings.Builder
	for _, e := range f.Evidence {
		fmt.Fprintf(&b, "%s: %s\n", e.Place(), e.Text)
	}
	return b.String()
}

func fixText(f Finding) string {
	var b strings.Builder
	for _, x := range f.Fix {
		fmt.Fprintf(&b, "%s: %s\n", x.Role, x.Command)
	}
	return b.String()
}

// Place is file:line, or the file alone for facts.
func (e Evidence) Place() string {
	if e.Line == 0 {
		return e.File
	}
	return fmt.Sprintf("%s:%d", e.File, e.Line)
}
