package image

import (
	"bytes"
	"strings"
	"sync"
)

// Progress reads Apptainer's output as it comes and knows where the build is.
// It is safe for use by the build and a drawing goroutine at once.
type Progress struct {
	Staged bool               // the definition has a build stage
	Change func(phase string) // called at each new phase; may be nil

	mu    sync.Mutex
	phase string
	line  string
	rest  []byte
	posts int
}

// Phases of a build in their order.
const (
	PhaseBase   = "base"
	PhaseBuild  = "build stage"
	PhaseFinal  = "final stage"
	PhaseTest   = "test"
	PhaseSquash = "squashfs"
)

// Write takes output in any pieces.
func (p *Progress) Write(b []byte) (int, error) {
	p.mu.Lock()
	var changes []string
	p.rest = append(p.rest, b...)
	for {
		i := bytes.IndexAny(p.rest, "\r\n")
		if i < 0 {
			break
		}
		before := p.phase
		if p.take(string(p.rest[:i])); p.phase != before {
			changes = append(changes, p.phase)
		}
		p.rest = p.rest[i+1:]
	}
	if len(p.rest) > keepBytes {
		p.rest = nil
	}
	p.mu.Unlock()
	for _, phase := range changes {
		if p.Change != nil {
			p.Change(phase)
		}
	}
	return len(b), nil
}

// take looks for the INFO lines of Apptainer's internal/pkg/build.
func (p *Progress) take(line string) {
	line = strings.TrimSpace(ansi.ReplaceAllString(line, ""))
	if line != "" && !strings.HasPrefix(line, "#") {
		p.line = line
	}
	if !strings.HasPrefix(line, "INFO:") {
		return
	}
	switch {
	case strings.Contains(line, "Starting build"):
		p.phase = PhaseBase
	case strings.Contains(line, "Running post scriptlet"):
		p.posts++
		p.phase = PhaseFinal
		if p.Staged && p.posts == 1 {
			p.phase = PhaseBuild
		}
	case strings.Contains(line, "Running testscript"):
		p.phase = PhaseTest
	case strings.Contains(line, "Creating SIF file"):
		p.phase = PhaseSquash
	}
}

// Now gives the phase and the last line of output.
func (p *Progress) Now() (phase, line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.phase, p.line
}
