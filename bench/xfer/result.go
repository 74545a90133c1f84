package xfer

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/nearmetal/nearmetal/bench"
)

// Schema of a result.
const Schema = "nearmetal/xfer/v1"

// Result of a run, timed by the receivers' clocks, of verified pages only.
type Result struct {
	Schema     string     `json:"schema"`
	Provider   string     `json:"provider"` // what libfabric chose
	Fallback   bool       `json:"fallback"` // another provider than the one asked for
	Memory     string     `json:"memory"`   // "host"
	Mode       Mode       `json:"mode"`
	Groups     int        `json:"groups"`
	Rails      int        `json:"rails"` // of each group
	Waiting    string     `json:"waiting"`
	Ablated    string     `json:"ablated,omitempty"` // the optimization that was off
	Geometry   Geometry   `json:"geometry"`
	LineGbps   float64    `json:"line_gbps,omitempty"`   // of all rails, as told by --rate
	LimitShare float64    `json:"limit_share,omitempty"` // GoodputLimit
	Receivers  []Received `json:"receivers"`
	Gbps       float64    `json:"gbps"`                 // verified payload, all receivers
	LineShare  float64    `json:"line_share,omitempty"` // of the line rate, for each direction
	CPUPerGB   float64    `json:"cpu_s_per_gb"`         // CPU seconds of both ends for 10⁹ bytes
	Verified   bool       `json:"verified"`             // every page was hashed and right
	Warnings   []string   `json:"warnings"`
}

// Received is one receiver's window.
type Received struct {
	End          string     `json:"end"` // "client" or "server"
	Seconds      float64    `json:"seconds"`
	Bytes        uint64     `json:"bytes"`
	Pages        uint64     `json:"pages"`
	TotalPages   uint64     `json:"total_pages"` // verified from first to last, outside the window too
	BadPages     uint64     `json:"bad_pages"`
	Stray        uint64     `json:"stray_immediates"`
	Duplicate    uint64     `json:"duplicate_pages"`
	Gbps         float64    `json:"gbps"`
	PagesPerSec  float64    `json:"pages_per_s"`
	WritesPerNIC float64    `json:"writes_per_s_per_nic"`
	NICBytes     []uint64   `json:"nic_bytes"` // in the window, group by group
	PageUs       Percentile `json:"page_us"`   // from the receiver's offer to the page verified
	TransferUs   Percentile `json:"transfer_us"`
	ReceiverCPU  float64    `json:"receiver_cpu_s"`
	SenderCPU    float64    `json:"sender_cpu_s"`
	Retries      uint64     `json:"retries"` // writes refused by the provider, on this end
}

// Percentile values in microseconds.
type Percentile struct {
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// Snapshot is what a receiver has counted at one time.
type Snapshot struct {
	Ns                    uint64 // CLOCK_MONOTONIC
	Bytes                 uint64 // verified
	Pages, Writes         uint64
	Bad, Stray, Duplicate uint64
	Retries               uint64
	NIC                   []uint64
	Latency               []uint64 // pages by bucket
	CPU                   float64
}

// Window gives a receiver's figures between two snapshots. bucketNs is the
// upper end of a latency bucket.
func Window(a, b Snapshot, bucketNs func(int) uint64) Received {
	r := Received{
		Seconds: float64(b.Ns-a.Ns) / 1e9, Bytes: b.Bytes - a.Bytes, Pages: b.Pages - a.Pages,
		BadPages: b.Bad, Stray: b.Stray, Duplicate: b.Duplicate, Retries: b.Retries - a.Retries,
		ReceiverCPU: b.CPU - a.CPU,
	}
	for i := range b.NIC {
		r.NICBytes = append(r.NICBytes, b.NIC[i]-a.NIC[i])
	}
	if r.Seconds > 0 {
		r.Gbps = float64(r.Bytes) * 8 / 1e9 / r.Seconds
		r.PagesPerSec = float64(r.Pages) / r.Seconds
		r.WritesPerNIC = float64(b.Writes-a.Writes) / r.Seconds / float64(max(len(b.NIC), 1))
	}
	counts := slices.Clone(b.Latency)
	for i := range a.Latency {
		counts[i] -= a.Latency[i]
	}
	r.PageUs = bucketQuantiles(counts, bucketNs)
	return r
}

func bucketQuantiles(counts []uint64, bucketNs func(int) uint64) Percentile {
	var total uint64
	for _, n := range counts {
		total += n
	}
	at := func(q float64) float64 {
		want, seen := uint64(math.Ceil(q*float64(total))), uint64(0)
		for i, n := range counts {
			if seen += n; n > 0 && seen >= want {
				return float64(bucketNs(i)) / 1e3
			}
		}
		return 0
	}
	return Percentile{at(0.5), at(0.9), at(0.99), at(1)}
}

// Quantiles of values in microseconds.
func Quantiles(v []float64) Percentile {
	s := slices.Sorted(slices.Values(v))
	at := func(q float64) float64 {
		if len(s) == 0 {
			return 0
		}
		return s[max(int(math.Ceil(q*float64(len(s))))-1, 0)]
	}
	return Percentile{at(0.5), at(0.9), at(0.99), at(1)}
}

// Sum fills in what follows from the receivers.
func (r *Result) Sum() {
	r.Schema, r.Verified = Schema, len(r.Receivers) > 0
	var bytes, cpu float64
	for _, x := range r.Receivers {
		r.Gbps += x.Gbps
		bytes += float64(x.Bytes)
		cpu += x.ReceiverCPU
		if r.Mode != Both { // else each end is counted once, as receiver
			cpu += x.SenderCPU
		}
		r.Verified = r.Verified && x.BadPages == 0 && x.Duplicate == 0 && x.TotalPages > 0
	}
	if bytes > 0 {
		r.CPUPerGB = cpu / (bytes / 1e9)
	}
	if r.LineGbps > 0 {
		r.LineShare = r.Gbps / r.LineGbps / float64(max(len(r.Receivers), 1))
	}
	if r.Warnings == nil {
		r.Warnings = []string{}
	}
}

// ReadResult reads a result document.
func ReadResult(in io.Reader) (Result, error) {
	var r Result
	d := json.NewDecoder(in)
	if err := d.Decode(&r); err != nil {
		return r, fmt.Errorf("xfer result: %w", err)
	}
	if r.Schema != Schema {
		return r, fmt.Errorf("xfer result: schema %q, want %q", r.Schema, Schema)
	}
	return r, nil
}

// Parse gives a result's samples. A result with a wrong page is an error, not
// a sample.
func Parse(in io.Reader) ([]bench.Sample, error) {
	r, err := ReadResult(in)
	if err != nil {
		return nil, err
	}
	if !r.Verified {
		return nil, fmt.Errorf("xfer result: pages were not verified, or wrong")
	}
	sample := func(metric, unit string, v float64) bench.Sample {
		return bench.Sample{Suite: "xfer", Benchmark: string(r.Mode), Metric: metric, Unit: unit, Size: r.Geometry.PageSize, Value: v}
	}
	out := []bench.Sample{sample("bandwidth", "GB/s", r.Gbps/8)}
	for _, x := range r.Receivers {
		out = append(out, sample("page_p50", "us", x.PageUs.P50), sample("page_p99", "us", x.PageUs.P99))
	}
	return append(out, sample("cpu", "s", r.CPUPerGB)), nil
}
