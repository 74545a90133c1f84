package logscan

import (
	"bytes"
	"regexp"
	"strings"
	"unicode/utf8"
)

// stripANSI removes terminal control sequences (ECMA-48: CSI and OSC) in place.
func stripANSI(b []byte) []byte {
	out := b[:0]
	for i := 0; i < len(b); i++ {
		if b[i] != 0x1b {
			out = append(out, b[i])
			continue
		}
		i += sequence(b[i:]) - 1
	}
	return out
}

// sequence is the length of the control sequence at the start of b, at least 1
// and never over a line's end.
func sequence(b []byte) int {
	if len(b) < 2 {
		return len(b)
	}
	switch b[1] {
	case '[':
		for i := 2; i < len(b) && i < 64; i++ {
			if b[i] == '\n' {
				return i
			}
			if b[i] >= 0x40 && b[i] <= 0x7e {
				return i + 1
			}
		}
		return 2
	case ']':
		for i := 2; i < len(b) && i < 1024; i++ {
			if b[i] == '\n' {
				return i
			}
			if b[i] == 7 {
				return i + 1
			}
		}
		return 2
	case '\n':
		return 1
	}
	return 2
}

// Prefixes that launchers put before a rank's line, and where libraries say who
// speaks.
var (
	srunLabel = regexp.MustCompile(`^\s*(\d{1,6}): `)                                // srun --label
	mpirunTag = regexp.MustCompile(`^(?:\[[A-Z][^\]]*\])?\s*\[\d+,(\d+)\]<\w+>:\s?`) // mpirun --tag-output
	torchTag  = regexp.MustCompile(`\[[Rr]ank ?(\d{1,6})\]`)                         // torchrun, PyTorch
	ncclTag   = regexp.MustCompile(`([\w.-]+):\d+:\d+ \[(\d+)\] `)                   // NCCL_DEBUG
	hostTag   = regexp.MustCompile(`\[([A-Za-z][\w.-]*):\d+(?::[\da-f]+)*\s*\]`)     // Open MPI, UCX
	slurmTag  = regexp.MustCompile(`^(?:srun|slurmstepd): error: ([A-Za-z][\w-]*\d[\w-]*): `)
)

// describe gives a line's text for people, cut around the place of the match, and who said it.
func describe(line []byte, at int) (text, rank, host string) {
	full := string(bytes.ToValidUTF8(line, []byte("?")))
	if m := srunLabel.FindStringSubmatch(full); m != nil {
		rank = m[1]
	} else if m := mpirunTag.FindStringSubmatch(full); m != nil {
		rank = m[1]
	} else if m := torchTag.FindStringSubmatch(full); m != nil {
		rank = m[1]
	}
	for _, re := range []*regexp.Regexp{ncclTag, hostTag, slurmTag} {
		if m := re.FindStringSubmatch(full); m != nil {
			host = m[1]
			break
		}
	}
	return cut(full, at), rank, host
}

// cut keeps MaxText bytes that begin shortly before the match, without control characters.
func cut(s string, at int) string {
	if len(s) > MaxText && at > MaxText/2 && at < len(s) {
		s = s[at-MaxText/4:]
	}
	if len(s) > MaxText {
		s = s[:MaxText]
	}
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case r < ' ' || r == 0x7f || r == utf8.RuneError:
			return -1
		}
		return r
	}, s)
	return strings.TrimSpace(s)
}
