package report

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/csv"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/nearmetal/nearmetal/bench"
)

func TestDownloadHoldsEverySample(t *testing.T) {
	r := small().report()
	twice := r.Samples[0]
	twice.Value = 12.5
	r.Samples = append(r.Samples, twice)
	got := unpack(t, render(t, r, FormatHTML, Style{}))
	if !slices.Equal(sorted(got), sorted(r.Samples)) {
		t.Fatalf("%d samples came back, not the %d that went in", len(got), len(r.Samples))
	}
}

func TestTooManySamplesStayOutsideThePage(t *testing.T) {
	r := small().report()
	rng := rand.New(rand.NewPCG(5, 6))
	for range 130_000 {
		s := r.Samples[0]
		s.Value = rng.Float64()
		r.Samples = append(r.Samples, s)
		r.Samples[len(r.Samples)-1].Launch = len(r.Samples)
	}
	page := render(t, r, FormatHTML, Style{})
	if len(page) >= mostPage || bytes.Contains(page, []byte("download=")) || !bytes.Contains(page, []byte("too many to put into this page")) {
		t.Errorf("page of %d bytes holds too many samples, or does not say where they are", len(page))
	}
}

// unpack reads the samples back from a page.
func unpack(t *testing.T, page []byte) (out []bench.Sample) {
	t.Helper()
	m := regexp.MustCompile(`href="data:application/gzip;base64,([^"]+)"`).FindSubmatch(page)
	if m == nil {
		t.Fatal("no download in the page")
	}
	text := bytes.ReplaceAll(bytes.ReplaceAll(m[1], []byte("&#43;"), []byte("+")), []byte("%2b"), []byte("+"))
	packed, err := base64.StdEncoding.DecodeString(string(text))
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(z).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows[1:] {
		for i, v := range row[8:] {
			if v != "" {
				out = append(out, bench.Sample{Suite: row[0], Benchmark: row[1], Placement: row[2], Metric: row[3], Unit: row[4], Arm: row[5],
					Block: int(number64(t, row[6])), Launch: int(number64(t, row[7])), Size: int64(number64(t, rows[0][8+i])), Value: number64(t, v)})
			}
		}
	}
	return out
}

func number64(t *testing.T, s string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func sorted(in []bench.Sample) []string {
	var out []string
	for _, s := range in {
		out = append(out, s.Suite+s.Benchmark+s.Placement+s.Metric+s.Unit+s.Arm+" "+strconv.Itoa(s.Block)+" "+strconv.Itoa(s.Launch)+" "+
			strconv.FormatInt(s.Size, 10)+" "+strconv.FormatFloat(s.Value, 'g', -1, 64))
	}
	slices.Sort(out)
	return out
}
