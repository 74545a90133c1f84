package cli

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"github.com/nearmetal/nearmetal/bench"
	"github.com/nearmetal/nearmetal/internal/attrib"
	"github.com/nearmetal/nearmetal/internal/campaign"
	"github.com/nearmetal/nearmetal/internal/compare"
	"github.com/nearmetal/nearmetal/internal/fail"
	"github.com/nearmetal/nearmetal/internal/report"
)

// mostNotes is how many failed launches are told one by one.
const mostNotes = 5

// loadReport reads one run or two and compares them.
func loadReport(o CompareOptions) (report.Report, error) {
	var runs []campaign.Results
	for _, path := range o.Runs {
		r, err := campaign.Load(path)
		if err != nil {
			return report.Report{}, err
		}
		if len(r.Samples) == 0 {
			return report.Report{}, fail.New(fail.Failed, "nearmetal bench --resume "+shellescape.Quote(path), "%s: no launch has given a result yet", path)
		}
		r.Samples = bench.Choose(r.Samples, string(o.Statistic))
		if len(r.Samples) == 0 {
			return report.Report{}, fail.Usagef("--statistic "+bench.Median, "%s: no %s of any launch is known", path, o.Statistic)
		}
		runs = append(runs, r)
	}
	if len(runs) == 2 {
		return reportOfTwo(o, runs[0], runs[1])
	}
	return reportOfOne(o, runs[0])
}

func (o CompareOptions) options(base, other, noise string) compare.Options {
	return compare.Options{Base: base, Other: other, Noise: noise, Margin: float64(o.Margin), Confidence: float64(o.Confidence), Statistic: statistic(o.Statistic)}
}

// reportOfOne compares two arms of one run.
func reportOfOne(o CompareOptions, r campaign.Results) (report.Report, error) {
	arms := armNames(r)
	base, err := pick(o.Runs[0], arms, o.Base, "native", arms[0])
	if err != nil {
		return report.Report{}, err
	}
	noise := o.Noise
	if noise == "" && slices.Contains(arms, base+"-again") {
		noise = base + "-again"
	}
	if noise != "" && !slices.Contains(arms, noise) {
		return report.Report{}, noArm(o.Runs[0], noise, arms)
	}
	rest := slices.DeleteFunc(slices.Clone(arms), func(a string) bool { return a == base || a == noise })
	if len(rest) == 0 {
		rest = []string{noise} // native against native
	}
	other, err := pick(o.Runs[0], arms, o.Other, "container", rest[0])
	if err != nil {
		return report.Report{}, err
	}
	opts := o.options(base, other, noise)
	opts.BaseEnv, opts.OtherEnv = r.Environment[base], r.Environment[other]
	out := report.Report{Comparison: compare.Compare(r.Samples, opts), Environment: r.Environment, Samples: counted(r.Samples)}
	out.Comparison.Scale(campaign.Scaled(r.Manifest.Cases))
	attrib.Explain(&out.Comparison, campaign.Places(r.Facts[base], r.Facts[other], r.Manifest.Cases), opts.BaseEnv, opts.OtherEnv)
	out.Run = describe(o, r)
	return out, nil
}

// reportOfTwo compares an arm of one run with an arm of another.
func reportOfTwo(o CompareOptions, a, b campaign.Results) (report.Report, error) {
	fallback := "native"
	if slices.Contains(armNames(a), "container") && slices.Contains(armNames(b), "container") {
		fallback = "container"
	}
	base, err := pick(o.Runs[0], armNames(a), o.Base, fallback, armNames(a)[0])
	if err != nil {
		return report.Report{}, err
	}
	other, err := pick(o.Runs[1], armNames(b), o.Other, base, armNames(b)[0])
	if err != nil {
		return report.Report{}, err
	}
	noise := o.Noise
	if noise == "" && slices.Contains(armNames(a), base+"-again") {
		noise = base + "-again"
	}
	opts := o.options(base, other, noise)
	opts.BaseLabel, opts.OtherLabel = labels(o.Runs[0], o.Runs[1], base, other)
	opts.BaseEnv, opts.OtherEnv = a.Environment[base], b.Environment[other]
	out := report.Report{Comparison: compare.CompareRuns(a.Samples, b.Samples, opts)}
	out.Environment = map[string]map[string]string{opts.BaseLabel: opts.BaseEnv, opts.OtherLabel: opts.OtherEnv}
	out.Samples = slices.Concat(relabelled(a.Samples, base, opts.BaseLabel), relabelled(a.Samples, noise, noise), relabelled(b.Samples, other, opts.OtherLabel))
	out.Comparison.Scale(campaign.Scaled(a.Manifest.Cases))
	attrib.Explain(&out.Comparison, campaign.Places(a.Facts[base], b.Facts[other], a.Manifest.Cases), opts.BaseEnv, opts.OtherEnv)
	out.Run = describe(o, a)
	out.Run.Against = filepath.Base(o.Runs[1])
	second := describe(CompareOptions{Runs: o.Runs[1:]}, b)
	out.Run.Launches, out.Run.Failed = out.Run.Launches+second.Launches, out.Run.Failed+second.Failed
	out.Run.Notes, out.Run.Measure = append(out.Run.Notes, second.Notes...), ""
	return out, nil
}

// labels tells the two sides apart: by run, and by arm where that differs too.
func labels(first, second, base, other string) (string, string) {
	a, b := filepath.Base(first), filepath.Base(second)
	if a == b {
		a, b = filepath.Clean(first), filepath.Clean(second)
	}
	if a == b {
		a, b = a+" (1)", b+" (2)"
	}
	if base != other {
		return base + " of " + a, other + " of " + b
	}
	return a, b
}

// pick chooses an arm: the one asked for, else the usual one, else the fallback.
func pick(run string, arms []string, asked, usual, fallback string) (string, error) {
	switch {
	case asked != "" && !slices.Contains(arms, asked):
		return "", noArm(run, asked, arms)
	case asked != "":
		return asked, nil
	case slices.Contains(arms, usual):
		return usual, nil
	}
	return fallback, nil
}

func noArm(run, arm string, arms []string) error {
	return fail.Usagef("its arms: "+strings.Join(arms, ", "), "%s: no arm %q", run, arm)
}

// armNames are those that have samples, in the manifest's order.
func armNames(r campaign.Results) (out []string) {
	has := map[string]bool{}
	for i := range r.Samples {
		has[r.Samples[i].Arm] = true
	}
	for _, a := range r.Manifest.Arms {
		if has[a.Name] {
			out = append(out, a.Name)
		}
	}
	return out
}

// counted leaves the warm-ups out.
func counted(in []bench.Sample) (out []bench.Sample) {
	for _, s := range in {
		if s.Block >= 0 {
			out = append(out, s)
		}
	}
	return out
}

func relabelled(in []bench.Sample, arm, label string) (out []bench.Sample) {
	for _, s := range counted(in) {
		if arm != "" && s.Arm == arm {
			s.Arm = label
			out = append(out, s)
		}
	}
	return out
}

// describe says where the numbers come from.
func describe(o CompareOptions, r campaign.Results) report.Run {
	out := report.Run{Name: filepath.Base(o.Runs[0]), Version: Version, Command: compareCommand(o), Measure: benchCommand(r), Notes: notes(o.Runs[0], r)}
	nodes := map[string]bool{}
	for _, l := range r.Runs {
		switch {
		case !l.OK():
			out.Failed++
		case l.Block >= 0:
			out.Launches++
		}
		if out.Started.IsZero() || l.Start.Before(out.Started) {
			out.Started = l.Start
		}
		if l.End.After(out.Finished) {
			out.Finished = l.End
		}
		for _, n := range l.Nodes {
			nodes[n] = true
		}
	}
	out.Nodes = slices.Sorted(maps.Keys(nodes))
	return out
}

// notes says what is not in the numbers.
func notes(path string, r campaign.Results) []string {
	out := slices.Clone(r.Notes)
	if more := len(out) - mostNotes; more > 0 {
		out = append(out[:mostNotes], fmt.Sprintf("%d more launches failed", more))
	}
	if r.Stopped != nil {
		out = append(out, "ended "+r.Stopped.Reason)
	}
	if !r.Complete() {
		out = append(out, fmt.Sprintf("%d of %d launches are there; nearmetal bench --resume %s makes the others", len(r.Runs), len(r.Manifest.Schedule), shellescape.Quote(path)))
	}
	return out
}

// compareCommand is what analyses the same data again.
func compareCommand(o CompareOptions) string {
	args := append([]string{"nearmetal", "compare"}, o.Runs...)
	args = append(args, "--margin", o.Margin.String(), "--confidence", o.Confidence.String())
	for _, f := range []struct{ flag, value string }{{"--base", o.Base}, {"--other", o.Other}, {"--noise", o.Noise}} {
		if f.value != "" {
			args = append(args, f.flag, f.value)
		}
	}
	if s := statistic(o.Statistic); s != bench.Median {
		args = append(args, "--statistic", s)
	}
	return shellescape.QuoteCommand(args)
}

// benchCommand is what measures the same again.
func benchCommand(r campaign.Results) string {
	m := r.Manifest
	args := []string{"nearmetal", "bench"}
	nodes := 1
	for _, c := range m.Cases {
		if !slices.Contains(args, c.Suite) {
			args = append(args, c.Suite)
		}
		nodes = max(nodes, c.Nodes)
	}
	if m.Image != nil {
		args = append(args, "--image", m.Image.Path)
	}
	args = append(args, "-N", strconv.Itoa(nodes), "--blocks", strconv.Itoa(m.Blocks))
	return shellescape.QuoteCommand(args)
}
