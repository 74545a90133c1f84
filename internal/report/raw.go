package report

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/csv"
	"slices"
	"strconv"

	"github.com/nearmetal/nearmetal/bench"
)

// rawData is the samples as a gzipped CSV, base64.
type rawData struct {
	Base64 string // "" when it is too large for the page
	Rows   int    // samples
	Size   int64  // of the gzipped file, bytes
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
	if base64.StdEncoding.EncodedLen(buf.Len()) < mostPage {
		out.Base64 = base64.StdEncoding.EncodeToString(buf.Bytes())
	}
	return out, nil
}

// sweep is one row of the CSV: what a launch said of a metric, over all sizes.
type sweep struct {
	suite, benchmark, placement, metric, unit, arm string
	block, launch                                  int
}

// writeCSV writes one row a launch and metric and one column a message size
// (bytes; -1: no size): half as large as one row a sample. A launch with
// several samples at a size has several rows. Rows are in the order measured.
func writeCSV(w *csv.Writer, samples []bench.Sample) error {
	column, head := sizeColumns(samples)
	if err := w.Write(append([]string{"suite", "benchmark", "placement", "metric", "unit", "arm", "block", "launch"}, head...)); err != nil {
		return err
	}
	rows := map[sweep][][]string{}
	var order []sweep
	for i := range samples {
		s := &samples[i]
		key := sweep{s.Suite, s.Benchmark, s.Placement, s.Metric, s.Unit, s.Arm, s.Block, s.Launch}
		if rows[key] == nil {
			order = append(order, key)
		}
		rows[key] = place(rows[key], column[s.Size], len(head), strconv.FormatFloat(s.Value, 'g', -1, 64))
	}
	for _, k := range order {
		for _, values := range rows[k] {
			fixed := []string{k.suite, k.benchmark, k.placement, k.metric, k.unit, k.arm, strconv.Itoa(k.block), strconv.Itoa(k.launch)}
			if err := w.Write(append(fixed, values...)); err != nil {
				return err
			}
		}
	}
	w.Flush()
	return w.Error()
}

// place puts a value into the first row whose column is free.
func place(rows [][]string, column, columns int, value string) [][]string {
	for _, r := range rows {
		if r[column] == "" {
			r[column] = value
			return rows
		}
	}
	r := make([]string, columns)
	r[column] = value
	return append(rows, r)
}

// sizeColumns numbers the sizes that occur, ascending.
func sizeColumns(samples []bench.Sample) (column map[int64]int, head []string) {
	var sizes []int64
	seen := map[int64]bool{}
	for i := range samples {
		if b := samples[i].Size; !seen[b] {
			seen[b] = true
			sizes = append(sizes, b)
		}
	}
	slices.Sort(sizes)
	column = map[int64]int{}
	for i, b := range sizes {
		column[b] = i
		head = append(head, strconv.FormatInt(b, 10))
	}
	return column, head
}
