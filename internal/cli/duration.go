package cli

import (
	"strconv"
	"strings"
	"time"

	"github.com/nearmetal/nearmetal/internal/fail"
)

// parseTime reads a time limit as Slurm does (minutes, MM:SS, H:MM:SS, D-H,
// D-H:MM, D-H:MM:SS; sbatch(1), --time) or as Go does (90s, 2h).
func parseTime(s string) (time.Duration, error) {
	if s == "" {
		return 0, nil
	}
	if d, err := time.ParseDuration(s); err == nil && d > 0 {
		return d, nil
	}
	units := []time.Duration{time.Minute, time.Second}
	rest := s
	var days time.Duration
	if d, after, ok := strings.Cut(s, "-"); ok {
		n, err := strconv.Atoi(d)
		if err != nil || n < 0 || n > 3650 {
			return 0, badTime(s)
		}
		days, rest, units = time.Duration(n)*24*time.Hour, after, []time.Duration{time.Hour, time.Minute, time.Second}
	} else if strings.Count(s, ":") == 2 {
		units = []time.Duration{time.Hour, time.Minute, time.Second}
	}
	total, ok := sumParts(strings.Split(rest, ":"), units)
	if !ok || total+days <= 0 {
		return 0, badTime(s)
	}
	return total + days, nil
}

func sumParts(parts []string, units []time.Duration) (time.Duration, bool) {
	if len(parts) > len(units) {
		return 0, false
	}
	var total time.Duration
	for i, p := range parts {
		n, err := strconv.Atoi(p)
		if err != nil || n < 0 || n > 100000 {
			return 0, false
		}
		total += time.Duration(n) * units[i]
	}
	return total, true
}

func badTime(s string) error {
	return fail.Usagef("-t 30, -t 1:30:00, -t 2-12:00:00", "time limit %q: not a time", s)
}
