package compare

import (
	"math"
	"slices"
)

// Summarize describes values, which it leaves as they are. The zero Summary
// stands for no values.
func Summarize(values []float64) Summary {
	if len(values) == 0 {
		return Summary{}
	}
	v := slices.Clone(values)
	slices.Sort(v)
	s := Summary{
		N: len(v), Median: quantile(v, 0.5), Min: v[0], Max: v[len(v)-1],
		P05: quantile(v, 0.05), P25: quantile(v, 0.25), P75: quantile(v, 0.75), P95: quantile(v, 0.95),
	}
	for i := range v {
		v[i] = math.Abs(v[i] - s.Median)
	}
	slices.Sort(v)
	s.MAD = quantile(v, 0.5)
	return s
}

// quantile interpolates linearly between order statistics (Hyndman and Fan
// 1996, definition 7; R's default). gonum's stat.Quantile lacks this one.
func quantile(sorted []float64, p float64) float64 {
	h := p * float64(len(sorted)-1)
	i := int(h)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (h-float64(i))*(sorted[i+1]-sorted[i])
}

// median sorts v.
func median(v []float64) float64 {
	slices.Sort(v)
	return quantile(v, 0.5)
}
