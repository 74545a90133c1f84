package slurm

import (
	"strings"

	"al.essio.dev/pkg/shellescape"
)

// Line writes the step as one command that can be pasted into a POSIX shell
// and does exactly the same. A value that holds newlines makes it several lines.
func (p Plan) Line() (string, error) {
	argv, err := p.Argv()
	if err != nil {
		return "", err
	}
	var words []string
	for _, v := range p.environ() {
		words = append(words, v.assignment())
	}
	return strings.Join(append(words, shellescape.QuoteCommand(argv)), " "), nil
}

// assignment is NAME=value for a shell; a prefix keeps what the shell has.
func (v variable) assignment() string {
	s := v.Name + "=" + shellescape.Quote(v.Value)
	if v.prefix {
		s += `:"$` + v.Name + `"`
	}
	return s
}
