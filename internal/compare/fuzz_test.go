package compare

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"testing"

	"github.com/nearmetal/nearmetal/bench"
)

// samplesFrom reads 12 bytes a sample: arm, size, block, launch, value.
func samplesFrom(data []byte) (out []bench.Sample) {
	arms := []string{"native", "container", "native-again", "unpacked"}
	units := []string{"us", "MB/s", "us", "us"}
	for ; len(data) >= 12; data = data[12:] {
		out = append(out, bench.Sample{Suite: "s", Benchmark: "b", Unit: units[data[1]>>6], Size: int64(data[1]&3) - 1, Arm: arms[data[0]&3],
			Block: int(int8(data[2])), Launch: int(data[3]), Value: math.Float64frombits(binary.LittleEndian.Uint64(data[4:]))})
	}
	return out
}

func FuzzCompare(f *testing.F) {
	seed := func(values ...float64) {
		var data []byte
		for i, v := range values {
			data = append(data, byte(i), 0, byte(i/3), byte(i))
			data = binary.LittleEndian.AppendUint64(data, math.Float64bits(v))
		}
		f.Add(data)
	}
	seed(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)
	seed(math.MaxFloat64, math.SmallestNonzeroFloat64, 1e-300, math.MaxFloat64, 1, 1e300, math.NaN(), math.Inf(1), -1, 0)
	f.Fuzz(func(t *testing.T, data []byte) {
		s := samplesFrom(data)
		for _, c := range []Comparison{Compare(s, withNoise()), CompareRuns(s, s, ofArms())} {
			if _, err := json.Marshal(c); err != nil {
				t.Fatal(err)
			}
			for _, cell := range c.Cells {
				e := cell.Effect
				if e.Lo > e.Ratio || e.Ratio > e.Hi || e.P < 0 || e.P > 1 || cell.Verdict != Undecided && !e.Reached {
					t.Fatalf("%+v", cell)
				}
			}
		}
		Width(s, ofArms())
	})
}
