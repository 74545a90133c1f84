package cli

import (
	"errors"
	"strconv"
	"strings"
)

// share is a flag between 0 and 1, written as 2%, 2 % or 0.02.
type share float64

// String is the flag's default in the help.
func (s *share) String() string { return strconv.FormatFloat(float64(*s)*100, 'g', 4, 64) + "%" }

// Type names the value in the help.
func (s *share) Type() string { return "PERCENT" }

// Set parses the flag.
func (s *share) Set(text string) error {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v > 0 && v < 1) {
		return errors.New("want a percentage between 0% and 100%, as 2% or 0.02")
	}
	*s = share(v)
	return nil
}
