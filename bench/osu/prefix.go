package osu

import "regexp"

// Prefixes that launchers put before each line, the task as submatch. Each is
// tried until none fits, since a time stamp may stand before a tag.
var prefixes = []*regexp.Regexp{
	// srun --label pads the task number: "0: ", " 3: "
	regexp.MustCompile(`^ {0,7}(\d{1,7}): ?`),
	// mpirun --tag-output [--timestamp-output] of Open MPI 4 and 5: "[1,0]<stdout>:",
	// "Mon Nov 30 19:00:00 2026[1,0]<stdout>:", "[Mon Nov 30 19:00:00 2026][1,0]<stdout>: "
	regexp.MustCompile(`^(?:\[?\w{3} \w{3} +\d+ [\d:]{8} \d{4}\]?)?\[\d+,(\d+)\]<std\w+>: ?`),
	// mpirun --timestamp-output alone: "Mon Nov 30 19:00:00 2026<stdout>:", with brackets in 5
	regexp.MustCompile(`^\[?\w{3} \w{3} +\d+ [\d:]{8} \d{4}\]?()<std\w+>: ?`),
	// PRRTE 3.1 and later: "[prterun-host-1234@1,0]<stdout>: ", time stamp within
	regexp.MustCompile(`^(?:\S+ )?\[[^\]\s]+@\d+,(\d+)\](?:\[[^\]]*\])?<std\w+>: ?`),
	// MPICH hydra -prepend-rank, Intel MPI -l: "[0] "
	regexp.MustCompile(`^\[(\d{1,7})\] `),
	// ISO 8601 and plain clock times of ts(1) and log collectors
	regexp.MustCompile(`^\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?()[: ] *`),
	regexp.MustCompile(`^\w{3} \d\d \d\d:\d\d:\d\d(?:\.\d+)?() `),
}

// stripPrefix gives the task ("" when none is told) and the rest of the line.
func stripPrefix(line string) (label, rest string) {
	for again := true; again; {
		again = false
		for _, p := range prefixes {
			m := p.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			line, again = line[len(m[0]):], true
			if m[1] != "" {
				label = m[1]
			}
		}
	}
	return label, line
}
