package compare

import "math"

// Schema names the JSON document that a Comparison marshals to.
const Schema = "nearmetal/comparison/v1"

// Options say what is compared and what counts as the same.
type Options struct {
	Base       string  // arm in the denominator, "native"
	Other      string  // arm in the numerator, "container"
	Noise      string  // A/A arm, "native-again"; empty or absent from the data: no noise floor
	Margin     float64 // relative, 0.02 = 2 %; the accepted ratios are 1/(1+Margin) … 1+Margin
	Confidence float64 // of the two-sided intervals, 0.95
	Statistic  string  // of a launch's iterations that the samples are, for the views; "" is not known

	// Labels of the two sides where the arm's name does not tell them apart
	// (the same arm of two runs); empty: the arm's name.
	BaseLabel, OtherLabel string

	// What is known of each arm's environment. Keys that start with "image."
	// may differ (the image is what is compared), those with "stack." make the
	// verdict speak of the stack, any other becomes a warning.
	BaseEnv, OtherEnv map[string]string
}

// Defaults of Options.
const (
	DefaultMargin     = 0.02
	DefaultConfidence = 0.95
)

// withDefaults also replaces what makes no sense; the command line refuses it earlier.
func (o Options) withDefaults() Options {
	if !(o.Margin > 0) || math.IsInf(o.Margin, 1) {
		o.Margin = DefaultMargin
	}
	if !(o.Confidence > 0 && o.Confidence < 1) {
		o.Confidence = DefaultConfidence
	}
	if o.BaseLabel == "" {
		o.BaseLabel = o.Base
	}
	if o.OtherLabel == "" {
		o.OtherLabel = o.Other
	}
	return o
}

// Design says how the launches of the two arms were laid out.
type Design string

const (
	Blocked   Design = "blocked"   // each block holds a launch of each arm; drift cancels
	Unblocked Design = "unblocked" // two separate runs; drift does not cancel
)

// Verdict is the one word for a cell, a family or a comparison.
type Verdict string

const (
	Equivalent Verdict = "equivalent" // the whole interval lies inside ±margin
	Slower     Verdict = "slower"     // of a cell: different, on the worse side; of a family: beyond the margin
	Faster     Verdict = "faster"     // the same on the better side
	Different  Verdict = "different"  // of a family: different somewhere, nowhere shown to be beyond the margin
	Mixed      Verdict = "mixed"      // of a family: beyond the margin on both sides, at different sizes
	Undecided  Verdict = "undecided"  // none of these could be shown
)

// Key names a cell.
type Key struct {
	Suite     string `json:"suite"`
	Benchmark string `json:"benchmark"`
	Placement string `json:"placement"`
	Metric    string `json:"metric"`
	Size      int64  `json:"size"` // bytes; bench.NoSize when there is none
}

// Summary describes the launches of one arm in the metric's own unit.
type Summary struct {
	N      int     `json:"n"` // launches
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	P05    float64 `json:"p05"` // quantiles by linear interpolation (R's type 7)
	P25    float64 `json:"p25"`
	P75    float64 `json:"p75"`
	P95    float64 `json:"p95"`
	MAD    float64 `json:"mad"` // median absolute deviation from the median, not rescaled
}

// Effect is the ratio other ÷ base with its interval.
type Effect struct {
	N          int     `json:"n"`          // blocks; unblocked: launches of the smaller arm
	Ratio      float64 `json:"ratio"`      // Hodges–Lehmann centre
	Lo         float64 `json:"lo"`         // lower end of the interval
	Hi         float64 `json:"hi"`         // upper end
	Level      float64 `json:"level"`      // confidence that the interval reaches
	Reached    bool    `json:"reached"`    // Level is at least the confidence asked for
	Exact      bool    `json:"exact"`      // exact null distribution, not the normal approximation
	P          float64 `json:"p"`          // two-sided, of ratio = 1; agrees with the interval
	PSlower    float64 `json:"p_slower"`   // one-sided, of "not slower than the margin"
	PFaster    float64 `json:"p_faster"`   // one-sided, of "not faster than the margin"
	Resolution float64 `json:"resolution"` // relative rounding of the raw values; the interval is wider by it on each side

	logCentre, logHalf float64 // log scale, without the rounding
}

// Cell is the comparison at one size. The four statements are kept apart:
// Different and Equivalent can both hold (a real difference of no importance).
type Cell struct {
	Key
	Unit             string  `json:"unit"`
	Better           string  `json:"better"` // "lower" or "higher" values of the metric
	Base             Summary `json:"base"`
	Other            Summary `json:"other"`
	Effect           Effect  `json:"effect"`
	Different        bool    `json:"different"`         // the interval excludes 1
	Equivalent       bool    `json:"equivalent"`        // the whole interval lies inside ±margin
	WorseThanMargin  bool    `json:"worse_than_margin"` // the whole interval lies beyond the margin, slower
	BetterThanMargin bool    `json:"better_than_margin"`
	Verdict          Verdict `json:"verdict"`
	NeedBlocks       int     `json:"need_blocks"` // blocks in all that would decide, 4 times in 5; 0: decided; -1: no number would
	PHolm            float64 `json:"p_holm"`      // Effect.P corrected over the family
	Noise            *Effect `json:"noise"`       // A/A at this size; null when it was not run
	AboveNoise       *bool   `json:"above_noise"` // the interval lies apart from the A/A interval; null without A/A
}

// Family is all sizes of one (suite, benchmark, placement, metric).
type Family struct {
	Suite                string  `json:"suite"`
	Benchmark            string  `json:"benchmark"`
	Placement            string  `json:"placement"`
	Metric               string  `json:"metric"`
	Cells                int     `json:"cells"`                 // sizes compared
	EquivalentCells      int     `json:"equivalent_cells"`      // sizes found equivalent
	DifferentSomewhere   bool    `json:"different_somewhere"`   // Holm over the sizes
	EquivalentEverywhere bool    `json:"equivalent_everywhere"` // intersection: no correction is due
	SlowerSizes          []int64 `json:"slower_sizes"`          // beyond the margin, Holm over the sizes
	FasterSizes          []int64 `json:"faster_sizes"`
	DifferentSizes       []int64 `json:"different_sizes"`
	Verdict              Verdict `json:"verdict"`
	NeedBlocks           int     `json:"need_blocks"` // largest of its cells; -1 when no number decides some cell
	Sentence             string  `json:"sentence"`
}

// Missing is a cell that only one arm has, or whose arms cannot be compared.
type Missing struct {
	Key
	Reason string `json:"reason"`
}

// Attribution says what a difference between the arms may be put down to.
type Attribution string

const (
	ToContainer   Attribution = "container"   // nothing but the image differs
	ToStack       Attribution = "stack"       // the software stack's versions differ
	ToEnvironment Attribution = "environment" // something else differs: see the warnings
	ToNothing     Attribution = "none"        // the arms are alike (A/A)
	ToUnknown     Attribution = "unknown"     // the environment was not recorded in both arms
)

// EnvDiff is one thing that differed between the arms.
type EnvDiff struct {
	Key   string  `json:"key"`
	Base  *string `json:"base"` // null: not observed
	Other *string `json:"other"`
	Kind  string  `json:"kind"` // "image", "stack" or "other"
}

// Warning is a reason to trust the result less; it never stops a comparison.
type Warning struct {
	Code      string  `json:"code"` // few-blocks, missing-launch, dropped-value, reduced, resolution, unblocked, aa-differs, environment, missing-cell …
	Suite     string  `json:"suite,omitempty"`
	Benchmark string  `json:"benchmark,omitempty"`
	Placement string  `json:"placement,omitempty"`
	Metric    string  `json:"metric,omitempty"`
	Sizes     []int64 `json:"sizes,omitempty"`
	Text      string  `json:"text"`
}

// Comparison is the whole answer.
type Comparison struct {
	Schema      string      `json:"schema"`
	Base        string      `json:"base"`
	Other       string      `json:"other"`
	NoiseArm    string      `json:"noise_arm,omitempty"`
	Design      Design      `json:"design"`
	Margin      float64     `json:"margin"`
	Confidence  float64     `json:"confidence"`
	Attribution Attribution `json:"attribution"`
	Verdict     Verdict     `json:"verdict"`
	Regression  bool        `json:"regression"` // some family is slower than the margin: exit code 3
	Sentence    string      `json:"sentence"`
	Families    []Family    `json:"families"`
	Cells       []Cell      `json:"cells"`
	Missing     []Missing   `json:"missing"`
	Environment []EnvDiff   `json:"environment"`
	Warnings    []Warning   `json:"warnings"`
	Reasons     []Reason    `json:"reasons,omitempty"` // what explains the differences, the surest first
	Facts       []FactRow   `json:"facts,omitempty"`   // what the libraries of both arms say
	Scaling     []Scaling   `json:"scaling,omitempty"` // efficiency of programs that ran at several numbers of ranks
	Statistic   string      `json:"statistic,omitempty"`
}
