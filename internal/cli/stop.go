package cli

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/nearmetal/nearmetal/bench"
	"github.com/nearmetal/nearmetal/internal/compare"
	"github.com/nearmetal/nearmetal/internal/fail"
	"github.com/nearmetal/nearmetal/internal/store"
)

// mostBlocks bounds a run that ends by precision or budget.
const mostBlocks = 100

// stopFlags say when a run may end before its last block.
type stopFlags struct {
	Precision share
	Budget    string
}

func (o *stopFlags) add(f *pflag.FlagSet) {
	f.Var(&o.Precision, "precision", "end when every interval is at most this wide on each side: 1%")
	f.Lookup("precision").DefValue = ""
	f.StringVar(&o.Budget, "budget", "", "end before the launches take longer than this `TIME`: 10m")
}

// stop is the rule of the manifest.
func (o stopFlags) stop() (store.StopRule, error) {
	if o.Precision == 0 && o.Budget == "" {
		return store.StopRule{}, nil
	}
	rule := store.StopRule{Precision: float64(o.Precision), Confidence: compare.DefaultConfidence, Statistic: bench.Median}
	if o.Budget != "" {
		d, err := time.ParseDuration(o.Budget)
		if err != nil || d <= 0 {
			return rule, fail.Usagef("--budget 10m", "budget %q: not a time", o.Budget)
		}
		rule.Budget = d
	}
	return rule, nil
}

// statisticFlag is which statistic of a launch is compared.
type statisticFlag string

// String is the flag's default in the help.
func (s *statisticFlag) String() string { return string(*s) }

// Type names the value in the help.
func (s *statisticFlag) Type() string { return "NAME" }

// Set parses the flag.
func (s *statisticFlag) Set(text string) error {
	if !slices.Contains(bench.Statistics, text) {
		return errors.New("want one of " + strings.Join(bench.Statistics, ", "))
	}
	*s = statisticFlag(text)
	return nil
}

// statistic names what stands for a launch, also where nobody asked.
func statistic(s statisticFlag) string {
	if s == "" {
		return bench.Median
	}
	return string(s)
}
