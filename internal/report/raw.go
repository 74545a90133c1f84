package report

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/csv"
	"strconv"

	"github.com/nearmetal/nearmetal/bench"
)

// mostRaw is the largest download that is put into the page, as base64: with
// it and the drawings the page stays below 1 MB.
const mostRaw = 640 << 10

// rawData is the samples as a gzipped CSV, base64.
type rawData struct {
	Base64 string // "" when it is too large for the page
	Rows   int
	Size   int64 // of the gzipped file, bytes
}

// pack compresses the samples. Equal samples give equal bytes: the gzip header
// carries no time.
func pack(samples []bench.Sample) (rawData, error) {
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	if err := writeCSV(csv.NewWriter(z), samples); err != nil {
		return rawData{}, err
	}
	if err := z.Close(); err != nil {
		return rawData{}, err
	}
	out := rawData{Rows: len(samples), Size: int64(buf.Len())}
	if base64.StdEncoding.EncodedLen(buf.Len()) <= mostRaw {
		out.Base64 = base64.StdEncoding.EncodeToString(buf.Bytes())
	}
	return out, nil
}

// writeCSV writes one row a sample, in the order measured.
func writeCSV(w *csv.Writer, samples []bench.Sample) error {
	if err := w.Write([]string{"suite", "benchmark", "placement", "metric", "unit", "size", "arm", "block", "launch", "value"}); err != nil {
		return err
	}
	for i := range samples {
		s := &samples[i]
		row := []string{s.Suite, s.Benchmark, s.Placement, s.Metric, s.Unit, strconv.FormatInt(s.Size, 10), s.Arm,
			strconv.Itoa(s.Block), strconv.Itoa(s.Launch), strconv.FormatFloat(s.Value, 'g', -1, 64)}
		if err := w.Write(row); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}
