package check

import (
	"fmt"
	"io"
	"strings"
)

// TextStyle is how the terminal view looks.
type TextStyle struct {
	Color bool
	Width int // columns; at least 40 are used
}

// Text writes the findings for people: causes in full, consequences in a line.
func Text(w io.Writer, fs []Finding, s TextStyle) error {
	p := &printer{w: w, style: s}
	var later []Finding
	for i, f := range fs {
		if f.Consequence() {
			later = append(later, f)
			continue
		}
		p.finding(i+1, f)
	}
	for i, f := range later {
		if i == 0 {
			p.line("", "What follows from these:")
		}
		p.wrap("  ", "%s (%s, from %s): %s", f.Key, f.Code, f.Because(), f.Title)
	}
	return p.err
}

type printer struct {
	w     io.Writer
	style TextStyle
	err   error
}

func (p *printer) line(indent, text string) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, "%s%s\n", indent, text)
	}
}

func (p *printer) paint(code, text string) string {
	if !p.style.Color {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

var severityColor = map[Severity]string{Error: "1;31", Warning: "1;33", Info: "36"}

func (p *printer) finding(n int, f Finding) {
	p.line("", fmt.Sprintf("%d. %s  %s", n, p.paint(severityColor[f.Severity], strings.ToUpper(string(f.Severity))), p.paint("1", f.Title)))
	p.line("   ", fmt.Sprintf("%s  %s  confidence %s", f.Code, f.Key, f.Confidence))
	p.wrap("   ", "%s", f.Cause)
	p.wrap("   ", "If left: %s.", strings.TrimSuffix(f.Breaks, "."))
	for _, e := range f.Evidence {
		p.line("   seen  ", e.Place()+"  "+e.Text)
	}
	for _, x := range f.Fix {
		p.line("   fix   ", fmt.Sprintf("[%s] %s", x.Role, x.Command))
	}
	if f.Apart != "" {
		p.line("   tell apart  ", f.Apart)
	}
	p.line("   more  ", f.Source)
	p.line("", "")
}

// wrap writes prose in lines of the terminal's width.
func (p *printer) wrap(indent, format string, args ...interface{}) {
	width := max(p.style.Width, 40) - len(indent)
	line := ""
	for _, word := range strings.Fields(fmt.Sprintf(format, args...)) {
		if line != "" && len(line)+1+len(word) > width {
			p.line(indent, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" {
		p.line(indent, line)
	}
}
