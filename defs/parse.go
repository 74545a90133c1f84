package defs

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// Stage is one stage of a definition file, as Apptainer reads it.
type Stage struct {
	Line     int // of its first line
	Header   []Field
	Sections []Section // in the order of the file; a name may come again
}

// Field is one line of a header.
type Field struct {
	Key   string // in small letters
	Value string
	Line  int
}

// Section is one %section.
type Section struct {
	Name string // in small letters, without %
	Args string // what follows the name on its line
	Text string // the lines below it
	Line int    // of the %
}

// Get gives a header's value, "" when it is not there.
func (s Stage) Get(key string) string {
	for _, f := range s.Header {
		if f.Key == key {
			return f.Value
		}
	}
	return ""
}

// Script joins the sections of a name, as Apptainer does.
func (s Stage) Script(name string) string {
	var b strings.Builder
	for _, sec := range s.Sections {
		if sec.Name == name {
			b.WriteString(sec.Text)
		}
	}
	return b.String()
}

var anyStage = regexp.MustCompile(`(?mi)^bootstrap:`)

// maxDefinition bounds what Parse reads, in bytes.
const maxDefinition = 16 << 20

// Parse reads a definition file after Apptainer's own rules
// (pkg/build/types/parser): a stage begins at each line that starts with
// bootstrap:, a section at each line whose first word starts with %, whatever
// quotes or heredocs are open there. The error is a Faults.
func Parse(r io.Reader) ([]Stage, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxDefinition+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxDefinition {
		return nil, Faults{{Line: 1, Msg: fmt.Sprintf("larger than %d MiB", maxDefinition>>20)}}
	}
	text := string(b)
	var stages []Stage
	var faults Faults
	line := 1
	for _, piece := range cutStages(text) {
		p := parser{line: line, stage: Stage{Line: line}}
		p.read(piece)
		line += strings.Count(piece, "\n")
		faults = append(faults, p.faults...)
		if len(p.stage.Header) > 0 || len(p.stage.Sections) > 0 {
			stages = append(stages, p.stage)
		}
	}
	if len(stages) == 0 && len(faults) == 0 {
		faults = Faults{{Line: 1, Msg: "empty definition"}}
	}
	return stages, faults.asError()
}

func cutStages(text string) []string {
	var out []string
	from := 0
	for _, at := range anyStage.FindAllStringIndex(text, -1) {
		if at[0] > from {
			out = append(out, text[from:at[0]])
		}
		from = at[0]
	}
	return append(out, text[from:])
}

type parser struct {
	stage  Stage
	faults Faults
	line   int
	inside bool // a section
	body   strings.Builder
	cont   string // header value continued by a backslash
}

func (p *parser) read(text string) {
	sc := bufio.NewScanner(strings.NewReader(text))
	sc.Buffer(nil, maxDefinition+1)
	for ; sc.Scan(); p.line++ {
		switch line := sc.Text(); {
		case strings.HasPrefix(strings.TrimSpace(line), "%"):
			p.open(strings.TrimSpace(line))
		case p.inside:
			p.body.WriteString(line + "\n")
		default:
			p.header(strings.TrimSpace(line))
		}
	}
	p.close()
	for _, s := range p.stage.Sections {
		if len(s.Text) >= 64<<10 {
			p.faults = append(p.faults, Fault{Line: s.Line, Field: "%" + s.Name, Msg: "64 KiB or more: Apptainer's scanner stops at it (token too long)"})
		}
	}
}

func (p *parser) open(line string) {
	name, args, _ := strings.Cut(strings.TrimLeft(line, "%"), " ")
	p.close()
	p.inside = true
	p.stage.Sections = append(p.stage.Sections, Section{Name: strings.ToLower(name), Args: strings.TrimSpace(args), Line: p.line})
}

// close gives the section that ends here its text.
func (p *parser) close() {
	if p.inside {
		p.stage.Sections[len(p.stage.Sections)-1].Text = p.body.String()
		p.body.Reset()
	}
}

func (p *parser) header(line string) {
	line, _, _ = strings.Cut(line, "#")
	if line = strings.TrimSpace(line); line == "" {
		return
	}
	if p.cont != "" {
		f := &p.stage.Header[len(p.stage.Header)-1]
		f.Value, p.cont = continued(f.Value + line)
		return
	}
	key, value, ok := strings.Cut(line, ":")
	if !ok {
		p.faults = append(p.faults, Fault{Line: p.line, Msg: fmt.Sprintf("\"%s\" is neither a header (Key: value) nor a %%section", clip(line))})
		return
	}
	f := Field{Key: strings.ToLower(strings.TrimSpace(key)), Line: p.line}
	f.Value, p.cont = continued(strings.TrimSpace(value))
	p.stage.Header = append(p.stage.Header, f)
}

// continued takes the backslash off a value that goes on in the next line.
func continued(v string) (value, cont string) {
	if s, ok := strings.CutSuffix(v, `\`); ok {
		return s, `\`
	}
	return v, ""
}
