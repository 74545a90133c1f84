package logscan

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

var samplePatterns = []string{
	`(?i)transport retry count exceeded on (\w+)`,
	`(?i)detected \d+ oom[_-]kill event`,
	`(?i)(?:neither|nor) af_inet6`,
}

func scanText(t testing.TB, text string) Signals {
	t.Helper()
	return scanFrom(t, strings.NewReader(text))
}

func scanFrom(t testing.TB, r io.Reader) Signals {
	t.Helper()
	s, err := Compile(samplePatterns)
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.Scan(r, "log")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestHitsSayWhereAndWho(t *testing.T) {
	cases := []struct{ line, rank, host, text string }{
		{"[node14:27251:0:27251] ib_mlx5_log.c:143  Transport retry count exceeded on mlx5_0:1/IB", "", "node14", ""},
		{"12: Transport retry count exceeded on mlx5_1", "12", "", ""},
		{"[1,7]<stderr>:Transport retry count exceeded on mlx5_0", "7", "", ""},
		{"\x1b[31mTransport retry \x1b[1mcount exceeded\x1b[0m on mlx5_0\r", "", "", "Transport retry count exceeded on mlx5_0"},
		{"node01:12:45 [3] NCCL WARN transport retry count exceeded on x", "", "node01", ""},
		{"10%\rTransport retry count exceeded on mlx5_0", "", "", "Transport retry count exceeded on mlx5_0"},
	}
	for _, c := range cases {
		s := scanText(t, "first\n\n"+c.line+"\nlast")
		hits := s.Hits[samplePatterns[0]]
		if len(hits) != 1 || hits[0].Line != 3 || hits[0].Rank != c.rank || hits[0].Host != c.host {
			t.Errorf("%q: %+v", c.line, hits)
			continue
		}
		if c.text != "" && hits[0].Text != c.text {
			t.Errorf("%q: text %q", c.line, hits[0].Text)
		}
	}
}

func TestGroupsAndCounts(t *testing.T) {
	s := scanText(t, strings.Repeat("Transport retry count exceeded on mlx5_0\nx\n", 40))
	hits := s.Hits[samplePatterns[0]]
	if len(hits) != MaxHits || hits[2].Line != 5 || hits[0].Groups[1] != "mlx5_0" {
		t.Errorf("%d hits, %+v", len(hits), hits[2])
	}
	if s.Lines != 80 || s.Bytes == 0 {
		t.Errorf("%d lines, %d bytes", s.Lines, s.Bytes)
	}
}

// Blocks, pieces of endless lines and small reads must not lose or move a hit.
func TestBlockBorders(t *testing.T) {
	line := "slurmstepd: error: Detected 1 oom_kill event in StepId=1.0\n"
	for _, before := range []int{0, blockSize - 70, blockSize - 30, blockSize - 1, blockSize, blockSize + 1, 3*blockSize - 20} {
		text := filler(before) + line + filler(5000)
		want := strings.Count(text[:strings.Index(text, line)], "\n") + 1
		for name, r := range map[string]io.Reader{"whole": strings.NewReader(text), "halves": iotest.HalfReader(strings.NewReader(text))} {
			hits := scanFrom(t, r).Hits[samplePatterns[1]]
			if len(hits) != 1 || hits[0].Line != want {
				t.Errorf("%d bytes before, %s: %d hits %+v, want line %d", before, name, len(hits), hits, want)
			}
		}
	}
}

func filler(n int) string {
	const l = "node01:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/IPC\n"
	return strings.Repeat(l, n/len(l)) + strings.Repeat(".", n%len(l)-min(n%len(l), 1)) + strings.Repeat("\n", min(n%len(l), 1))
}

func TestEndlessLine(t *testing.T) {
	text := strings.Repeat("x", 3*blockSize) + "Detected 2 oom_kill events" + strings.Repeat("y", 2*blockSize)
	hits := scanText(t, text).Hits[samplePatterns[1]]
	if len(hits) != 1 || hits[0].Line != 1 || len(hits[0].Text) > MaxText {
		t.Errorf("%d hits: %+v", len(hits), hits)
	}
}

func TestGzip(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	fmt.Fprintln(z, "Detected 3 oom-kill event(s)")
	z.Close()
	if h := scanFrom(t, &b).Hits[samplePatterns[1]]; len(h) != 1 {
		t.Errorf("%+v", h)
	}
	s, _ := Compile(samplePatterns)
	cut := append([]byte{0x1f, 0x8b}, 1, 2, 3)
	if _, err := s.Scan(bytes.NewReader(cut), "bad.gz"); err == nil || !strings.Contains(err.Error(), "bad.gz") {
		t.Errorf("a broken gzip file: %v", err)
	}
}

func TestReadErrorKeepsWhatWasFound(t *testing.T) {
	s, _ := Compile(samplePatterns)
	boom := errors.New("boom")
	out, err := s.Scan(io.MultiReader(strings.NewReader("a\nDetected 1 oom_kill event\n"), iotest.ErrReader(boom)), "log")
	if !errors.Is(err, boom) || len(out.Hits[samplePatterns[1]]) != 1 {
		t.Errorf("%v, %+v", err, out.Hits)
	}
}

func TestTables(t *testing.T) {
	text := "# OSU MPI Latency Test v7.4\n# Size          Latency (us)\n1: 1   0.22\n[node01:1] chatter\n1: 2   0.23\n4194304  900.1 1 2\n\nend\n" +
		"#       size         count      type   redop    root     time   algbw   busbw #wrong\n" +
		"#                                                        out-of-place                       in-place\n" +
		"     1048576        262144     float     sum      -1    162.6    6.45    5.64      0\n"
	s := scanText(t, text)
	if len(s.Tables) != 2 || len(s.Tables[0].Rows) != 3 || s.Tables[0].Rows[1].Values[0] != 0.23 || s.Tables[0].Line != 1 {
		t.Fatalf("%+v", s.Tables)
	}
	if r := s.Tables[1]; r.Kind != "nccl-tests" || len(r.Rows) != 1 || r.Rows[0].Size != 1048576 {
		t.Errorf("%+v", r)
	}
}

func TestConfiguresTrialsDoNotCount(t *testing.T) {
	if s := scanText(t, "conftest.c:3: Transport retry count exceeded on x\n"); len(s.Hits) != 0 {
		t.Errorf("%+v", s.Hits)
	}
}

func TestCompileRefusesWhatWouldBeSlow(t *testing.T) {
	for _, re := range []string{`error`, `(?:abcdefghi|x)`, `.*`, `[`, `a{3}\d+`} {
		if _, err := Compile([]string{re}); err == nil {
			t.Errorf("%q is accepted", re)
		}
	}
}

func TestRequiredLiterals(t *testing.T) {
	for re, want := range map[string]string{
		`(?i)pmix_(?:gds|shm)_x\w+`:           "pmix_gds_x pmix_shm_x",
		`error (?:the )?thing`:                "error thing error the thing",
		`\d+ bytes of something\s+else`:       " bytes of something",
		`(?:alpha|beta) gamma.*verylongtext`:  "verylongtext",
		`pmix_gds_\w+|pmix_pshmem|pmix_shmem`: "pmix_gds_ pmix_pshmem pmix_shmem",
	} {
		s, err := Compile([]string{re})
		if err != nil {
			t.Errorf("%q: %v", re, err)
			continue
		}
		for _, w := range strings.Split(want, "|") {
			found := false
			for _, l := range s.Literals() {
				found = found || strings.Contains(want, l)
			}
			if !found {
				t.Errorf("%q: %q, want %q", re, s.Literals(), w)
			}
		}
	}
}

// The prefilter finds what a naive search finds.
func FuzzPrefilter(f *testing.F) {
	f.Add([]byte("xx transport RETRY count exceeded on q af_inet6 nor af_inet6"))
	f.Add([]byte("detected 1 oom_kill event detected 2 oom-kill event"))
	s, err := Compile(samplePatterns)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got := map[string]int{}
		s.pre.find(text, func(l *literal, pos int) { got[fmt.Sprint(pos, l.text)]++ })
		folded := fold(string(text))
		for _, lit := range s.Literals() {
			l := fold(lit)
			for i := 0; i+len(l) <= len(folded); i++ {
				if folded[i:i+len(l)] == l && got[fmt.Sprint(i, l)] != 1 {
					t.Errorf("%q at %d: %d times", l, i, got[fmt.Sprint(i, l)])
				}
			}
		}
	})
}

func FuzzScan(f *testing.F) {
	f.Add([]byte("\x1b[31mTransport retry count exceeded on a\n# OSU MPI Latency Test\n1 2\n"))
	f.Add([]byte("\x1f\x8b\x08"))
	f.Add([]byte("\x1b]0;x\x07\x1b[\n\x1b"))
	s, err := Compile(samplePatterns)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		out, _ := s.Scan(bytes.NewReader(text), "f")
		for _, hits := range out.Hits {
			for _, h := range hits {
				if h.Line < 1 || h.Line > out.Lines+1 || len(h.Text) > MaxText*4 {
					t.Errorf("%+v of %d lines", h, out.Lines)
				}
			}
		}
	})
}
