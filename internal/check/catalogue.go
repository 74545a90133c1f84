package check

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"

	"github.com/nearmetal/nearmetal/internal/logscan"
)

// All is the catalogue: every family's checks in the order of the layers.
func All() []Check {
	return withLive(slices.Concat(
		slurm(), slurmLaunch(), pmix(), openmpi(), openmpiRun(), mpich(),
		ucx(), libfabric(), efa(), verbs(), verbsSetup(), kernel(),
		cuda(), cudaSetup(), nccl(), ncclNetwork(),
		apptainer(), apptainerRun(), apptainerBuild(), enroot(),
		spack(), torch(), filesystem(), binding(), performance(),
		noise(), generic(), consequences(),
	), live())
}

// Doctor is a catalogue ready to run.
type Doctor struct {
	checks  []Check
	scanner *logscan.Scanner
}

// New compiles checks; a pattern that cannot be searched for is an error that
// names its check.
func New(checks []Check) (*Doctor, error) {
	var lines []string
	for _, c := range checks {
		for _, r := range c.Rules {
			for _, l := range r.All {
				lines = append(lines, l.pattern())
			}
		}
	}
	s, err := logscan.Compile(lines)
	if err != nil {
		return nil, err
	}
	return &Doctor{checks: checks, scanner: s}, nil
}

// Scan reads a log; see logscan.Scanner.Scan.
func (d *Doctor) Scan(r io.Reader, file string) (logscan.Signals, error) {
	return d.scanner.Scan(r, file)
}

// Literals are the texts that a scan looks for.
func (d *Doctor) Literals() []string { return d.scanner.Literals() }

// Find is the check with a code or a key.
func (d *Doctor) Find(name string) (Check, bool) {
	i := slices.IndexFunc(d.checks, func(c Check) bool { return c.Code == name || c.Key == name })
	if i < 0 {
		return Check{}, false
	}
	return d.checks[i], true
}

// Validate says what a catalogue lacks: each entry needs its texts, a fix, a
// source and something that finds it; codes and keys are unique.
func Validate(checks []Check) error {
	var errs []error
	seen := map[string]bool{}
	for _, c := range checks {
		if seen[c.Code] || seen[c.Key] {
			errs = append(errs, fmt.Errorf("%s %s: code or key used twice", c.Code, c.Key))
		}
		seen[c.Code], seen[c.Key] = true, true
		errs = append(errs, c.validate())
	}
	for _, c := range checks {
		for _, k := range c.DependsOn {
			if k != any && !seen[k] {
				errs = append(errs, fmt.Errorf("%s depends on %s, which is not in the catalogue", c.Key, k))
			}
		}
	}
	return errors.Join(errs...)
}

var (
	codeForm = regexp.MustCompile(`^[A-Z]{2,4}\d{3}$`)
	keyForm  = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
)

func (c Check) validate() error {
	for _, t := range []string{c.Layer, string(c.Severity), c.Title, c.Cause, c.Breaks, c.Source} {
		if t == "" {
			return fmt.Errorf("%s %s: a text is missing", c.Code, c.Key)
		}
	}
	switch {
	case !codeForm.MatchString(c.Code) || !keyForm.MatchString(c.Key):
		return fmt.Errorf("%s %s: form of code or key", c.Code, c.Key)
	case len(c.Fix) == 0 || slices.ContainsFunc(c.Fix, func(f Fix) bool { return f.Command == "" }):
		return fmt.Errorf("%s: no fix", c.Key)
	case len(c.Rules) == 0 && c.Live == nil:
		return fmt.Errorf("%s: nothing finds it", c.Key)
	}
	for _, r := range c.Rules {
		if len(r.All) == 0 && r.See == nil || r.Score < 1 || r.Score > 100 {
			return fmt.Errorf("%s: a rule without lines or score", c.Key)
		}
	}
	return c.compiles()
}

func (c Check) compiles() error {
	var all []string
	for _, r := range c.Rules {
		all = slices.Concat(all, r.Need, r.None)
	}
	for _, k := range c.Clues {
		all = append(all, k.Re)
	}
	for _, e := range all {
		if _, err := regexp.Compile("(?i)" + e); err != nil {
			return fmt.Errorf("%s: %w", c.Key, err)
		}
	}
	return nil
}
