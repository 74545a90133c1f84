package nccl

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"github.com/nearmetal/nearmetal/internal/fail"
)

// number is a JSON number, or the string "nan" that nccl-tests writes for one
// (util.cu, jsonDouble); "nan" is not set.
type number struct {
	value float64
	set   bool
}

// UnmarshalJSON reads either.
func (n *number) UnmarshalJSON(text []byte) error {
	if s := string(text); s == `"nan"` || s == "null" {
		return nil
	}
	v, err := strconv.ParseFloat(string(text), 64)
	n.value, n.set = v, err == nil
	return err
}

type jsonBody struct {
	Time    number `json:"time"`
	CPUTime number `json:"cpu_time"`
	AlgBW   number `json:"alg_bw"`
	BusBW   number `json:"bus_bw"`
	Wrong   number `json:"nwrong"`
}

type jsonIter struct {
	Min number `json:"min_us"`
	P50 number `json:"p50_us"`
	P99 number `json:"p99_us"`
	Max number `json:"max_us"`
}

type jsonFile struct {
	Args    []string `json:"args"`
	Library int      `json:"nccl_version"`
	Config  struct {
		Devices []Device `json:"devices"`
	} `json:"config"`
	Results []struct {
		Size, Count       int64
		Type, Redop, Root string
		Out               *jsonBody `json:"out_of_place"`
		In                *jsonBody `json:"in_place"`
		OutIter           *jsonIter `json:"out_of_place_per_iter"`
		InIter            *jsonIter `json:"in_place_per_iter"`
	} `json:"results"`
	OutOfBounds *struct {
		Count number `json:"count"`
		Okay  string `json:"okay"`
	} `json:"out_of_bounds"`
	Average *struct {
		Bandwidth number `json:"bandwidth"`
	} `json:"average_bus_bandwidth"`
}

var base = regexp.MustCompile(`[^/]+$`)

// parseJSON reads a file of -J (version 1 of util.cu).
func parseJSON(r io.Reader) (Result, error) {
	var f jsonFile
	if err := json.NewDecoder(r).Decode(&f); err != nil {
		return Result{}, fail.New(fail.Failed, "the run has ended before its file was whole: run it again", "nccl-tests JSON: %w", err)
	}
	res := Result{Devices: f.Config.Devices, Footer: f.Average != nil}
	if f.Library > 0 {
		res.Library = fmt.Sprint(f.Library)
	}
	if len(f.Args) > 0 {
		res.Program = base.FindString(f.Args[0])
	}
	if f.Average != nil {
		res.AvgBusBW = f.Average.Bandwidth.value
	}
	res.Failed = f.OutOfBounds != nil && (f.OutOfBounds.Count.value > 0 || f.OutOfBounds.Okay == "false")
	for i, x := range f.Results {
		row := Row{Line: i + 1, Size: x.Size, Count: x.Count, Type: x.Type, Op: x.Redop, Root: x.Root, Out: x.Out.body(x.OutIter), InPlace: x.In.body(x.InIter)}
		if row.Out == nil && row.InPlace == nil {
			res.Warnings = append(res.Warnings, Warning{i + 1, "a result without numbers"})
			continue
		}
		res.Rows = append(res.Rows, row)
	}
	return res, res.verdict()
}

func (b *jsonBody) body(iter *jsonIter) *Body {
	if b == nil || !b.Time.set && !b.CPUTime.set {
		return nil
	}
	out := &Body{TimeUS: b.Time.value, AlgBW: b.AlgBW.value, BusBW: b.BusBW.value}
	if b.CPUTime.set {
		out.TimeUS = b.CPUTime.value
	}
	if b.Wrong.set {
		out.Wrong = &b.Wrong.value
	}
	if iter != nil {
		out.Iter = &Iter{iter.Min.value, iter.P50.value, iter.P99.value, iter.Max.value}
	}
	return out
}
