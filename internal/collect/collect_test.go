package collect

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nearmetal/nearmetal/internal/check"
	"github.com/nearmetal/nearmetal/internal/fail"
	"github.com/nearmetal/nearmetal/internal/site"
)

func sample(node string) site.Facts {
	return site.Facts{
		Node:   node,
		Limits: site.Limits{Memlock: site.Of(uint64(8<<20), "/proc/self/limits")},
		Network: site.Network{
			Interfaces: site.Of([]site.Interface{{Name: "eth0", Up: true, Addrs: []string{"10.1.2.3/24"}}}, "/sys/class/net"),
		},
		Env: site.Of([]string{"UCX_TLS=rc", "TMPDIR=/scratch/carol/x"}, "environment"),
	}
}

func TestWireSurvivesInterleavingAndNoise(t *testing.T) {
	var a, b bytes.Buffer
	big := sample("n1")
	big.Env = site.Of([]string{strings.Repeat("incompressible-ish ", 10) + fmt.Sprint(time.Duration(1<<40))}, "environment")
	for i := range 3000 {
		big.Env.Value = append(big.Env.Value, fmt.Sprintf("UCX_X%d=%d", i, i*i*7919%10007))
	}
	if err := Encode(&a, "n1", []site.Facts{big}); err != nil {
		t.Fatal(err)
	}
	if err := Encode(&b, "n2", []site.Facts{sample("n2"), {Node: "n2", Image: "x.sif"}}); err != nil {
		t.Fatal(err)
	}
	la, lb := strings.Split(a.String(), "\n"), strings.Split(b.String(), "\n")
	if len(la) < 5 {
		t.Fatalf("only %d lines: nothing to interleave", len(la))
	}
	slices.Reverse(la)
	text := "prolog says hello\n0: " + strings.Join(lb, "\n1: ") + "\n" + strings.Join(la, "\nnoise\n")
	got, err := Decode(strings.NewReader(text))
	if err != nil || len(got) != 3 {
		t.Fatalf("%d facts, %v", len(got), err)
	}
	if !reflect.DeepEqual(got[2], big) || !reflect.DeepEqual(got[0], sample("n2")) {
		t.Error("facts changed on the way")
	}
	if got, err := Decode(strings.NewReader(strings.Join(slices.Concat(la[:2], la[3:], lb), "\n"))); err == nil || len(got) != 2 {
		t.Errorf("a lost piece: %d facts, %v", len(got), err)
	}
}

func TestParsers(t *testing.T) {
	mpi, pmix := parseMPIList("MPI plugin types are...\n\tnone\n\tpmix\n\tpmi2\nspecific pmix plugin versions available: pmix_v4,pmix_v5\n")
	if !slices.Equal(mpi, []string{"none", "pmix", "pmi2"}) || !slices.Equal(pmix, []string{"pmix_v4", "pmix_v5"}) {
		t.Errorf("new form: %q %q", mpi, pmix)
	}
	mpi, pmix = parseMPIList("srun: MPI types are...\nsrun: none\nsrun: pmi2\n")
	if !slices.Equal(mpi, []string{"none", "pmi2"}) || pmix != nil {
		t.Errorf("old form: %q %q", mpi, pmix)
	}
	st := parseStates("n1|idle|none\nn1|idle|none\nn2|down*|Not responding\nbroken\n")
	if want := []site.NodeState{{Node: "n1", State: "idle"}, {Node: "n2", State: "down*", Reason: "Not responding"}}; !slices.Equal(st, want) {
		t.Errorf("states %+v", st)
	}
	status, at := parseUnmunge(strings.NewReader("STATUS:          Success (0)\nENCODE_TIME:     2026-11-30 20:22:54 +0000 (1796070174)\nDECODE_TIME:     2026-11-30 20:24:54 +0000 (1796070294)\n"))
	if status.Value != "Success (0)" || at.Value != 1796070294 {
		t.Errorf("unmunge %v %v", status, at)
	}
	status, at = parseUnmunge(strings.NewReader("unmunge: Error: Invalid credential\n"))
	if status == nil || status.Value != "Invalid credential" || at != nil {
		t.Errorf("unmunge error %v %v", status, at)
	}
	double, missing := parseLdd("\tlibmpi.so.40 => /a/libmpi.so.40 (0x1)\n\tlibmpi.so.12 => /b/libmpi.so.12 (0x2)\n\tlibx.so.1 => not found\n\tlinux-vdso.so.1 (0x3)\n")
	if !slices.Equal(double, []string{"/a/libmpi.so.40 and /b/libmpi.so.12"}) || !slices.Equal(missing, []string{"libx.so.1"}) {
		t.Errorf("ldd %q %q", double, missing)
	}
	g := parseGPUs("0, NVIDIA H200, 5, 5, 8, 16, Disabled, Enabled, 0, Enabled\nbad line\n")
	if len(g) != 1 || g[0].WidthNow != "8" || g[0].WidthMax != "16" {
		t.Errorf("gpus %+v", g)
	}
}

// TestFailedNodes: what srun 24.11 said in the lab with another munge key on n2,
// and with n2 killed.
func TestFailedNodes(t *testing.T) {
	said := []string{
		"srun: error: slurm_receive_msgs: [[n2]:41498] failed: Zero Bytes were transmitted or received",
		"srun: error: Task launch for StepId=2.0 failed on node n2: Zero Bytes were transmitted or received",
		"srun: error: Task launch for StepId=34.0 failed on node n3: Communication connection failure",
		"srun: error: Task launch for StepId=34.0 failed on node n1: Communication connection failure",
	}
	if got := failedNodes(said, []site.Facts{{Node: "n1"}}); !slices.Equal(got, []string{"n2", "n3"}) {
		t.Errorf("%q", got)
	}
}

func TestClocks(t *testing.T) {
	start := time.Unix(1000, 0)
	f := sample("n1")
	f.System.Time = site.Of(time.Unix(1130, 0), "clock")
	f.Slurm.MungeTime = site.Of(int64(900), "unmunge")
	clocks(&f, start, start.Add(10*time.Second))
	if f.System.Skew.Value != 120 || f.Slurm.MungeSkew.Value != -100 {
		t.Errorf("skew %v, munge %v", f.System.Skew, f.Slurm.MungeSkew)
	}
	f.Slurm.Munge = site.Of("Expired credential", "unmunge")
	clocks(&f, start, start.Add(time.Hour))
	if f.Slurm.Munge != nil {
		t.Error("a credential that waited an hour in the queue says nothing")
	}
}

func TestRedaction(t *testing.T) {
	r := NewRedactor([]string{"gpu-a01", "gpu-a02"}, []string{"carol", "root"})
	in := "srun: error: gpu-a01: task 0 by carol at 192.168.4.7 and fe80::1 in /home/dave/run, mail x@uni-y.de, login.hpc.uni-y.de, " +
		"HF_TOKEN=hf_abcdefghijklmnopqrstuvwx password: hunter2 127.0.0.1 172.17.0.1 gpu-a01x 20:22:54 ghp_abcdefghijklmnopqrstuvwxyz012345"
	got := r.Text(in)
	for _, name := range []string{"gpu-a01:", "carol", "192.168.4.7", "dave", "uni-y", "hf_abc", "hunter2", "ghp_"} {
		if strings.Contains(got, name) {
			t.Errorf("%q is still there: %s", name, got)
		}
	}
	for _, keep := range []string{"task 0", "127.0.0.1", "172.17.0.1", "gpu-a01x", "20:22:54"} {
		if !strings.Contains(got, keep) {
			t.Errorf("%q is gone: %s", keep, got)
		}
	}
	first := r.Text("192.168.4.7")
	if again := r.Text("192.168.4.7"); r.Text("gpu-a02 gpu-a01") != "node2 node1" || again != first {
		t.Error("names are not the same each time")
	}
}

func TestBundleComesBack(t *testing.T) {
	b := Bundle{Created: time.Unix(1e9, 0).UTC(), Facts: []site.Facts{sample("n1"), sample("n2")}, Logs: map[string][]byte{"job.out": []byte("n1 said 10.1.2.3\n")}}
	if err := b.Redact([]string{"carol"}); err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	if err := b.Write(&buf); err != nil {
		t.Fatal(err)
	}
	got, err := Read(&buf)
	if err != nil || !got.Redacted || len(got.Facts) != 2 || len(got.Logs) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	if !reflect.DeepEqual(got.Facts, b.Facts) {
		t.Errorf("%+v", got.Facts)
	}
	text := fmt.Sprint(got.Facts[0].Node, got.Facts[0].Env.Value, got.Facts[0].Network.Interfaces.Value, string(got.Logs["job.out"]))
	for _, name := range []string{"n1 ", "carol", "10.1.2.3"} {
		if strings.Contains(text, name) {
			t.Errorf("%s is still there: %s", name, text)
		}
	}
}

// archive makes a bundle by hand.
func archive(t testing.TB, entries ...tar.Header) *bytes.Buffer {
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	w := tar.NewWriter(z)
	for _, h := range entries {
		body := []byte(h.Linkname)
		if h.Typeflag == tar.TypeReg {
			h.Size, h.Linkname = int64(len(body)), ""
		}
		h.Mode = 0o644
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			if _, err := w.Write(body); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.Close()
	z.Close()
	return &buf
}

const head = `{"schema":"nearmetal/bundle/v1"}`

// Linkname carries the text of a regular file.
func file(name, text string) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeReg, Linkname: text}
}

func TestHostileBundlesAreRefused(t *testing.T) {
	ok := file("bundle.json", head)
	for want, r := range map[string]io.Reader{
		"not gzip":        strings.NewReader("hello"),
		"cut off":         bytes.NewReader(archive(t, ok, file("logs/x", strings.Repeat("x", 9000))).Bytes()[:60]),
		"no bundle.json":  archive(t, file("facts/n1.json", `[{"node":"n1"}]`)),
		"leads out of it": archive(t, ok, file("facts/../../etc/passwd", "x")),
		`"/etc/passwd"`:   archive(t, ok, file("/etc/passwd", "x")),
		"a link":          archive(t, ok, tar.Header{Name: "logs/x", Typeflag: tar.TypeSymlink, Linkname: "/etc/shadow"}),
		"or a device":     archive(t, ok, tar.Header{Name: "logs/x", Typeflag: tar.TypeChar}),
		"hard":            archive(t, ok, tar.Header{Name: "logs/hard", Typeflag: tar.TypeLink, Linkname: "/etc/shadow"}),
		"nothing that":    archive(t, ok, file("bin/sh", "x")),
		"of no node":      archive(t, ok, file("facts/n1.json", `[{}]`)),
		"of schema":       archive(t, file("bundle.json", `{"schema":"x"}`)),
		"facts/n1.json":   archive(t, ok, file("facts/n1.json", `[{"node":7}]`)),
	} {
		_, err := Read(r)
		if err == nil || !strings.Contains(err.Error(), want) || fail.Code(err) != fail.Usage {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// zeros is a stream without end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestBombIsRefused(t *testing.T) {
	var buf bytes.Buffer
	z, _ := gzip.NewWriterLevel(&buf, gzip.BestSpeed)
	w := tar.NewWriter(z)
	const size = maxBundle + 1<<20
	if err := w.WriteHeader(&tar.Header{Name: "logs/x", Typeflag: tar.TypeReg, Size: size, Mode: 0o644}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(w, zeros{}, 4<<20); err != nil {
		t.Fatal(err)
	}
	z.Close()
	if _, err := Read(&buf); err == nil || !strings.Contains(err.Error(), "bytes") {
		t.Errorf("%v", err)
	}
}

// TestThousandNodes: the odd one out of a thousand, from a bundle, in seconds.
func TestThousandNodes(t *testing.T) {
	b := Bundle{Logs: map[string][]byte{}}
	for i := range 1000 {
		f := sample(fmt.Sprintf("n%04d", i))
		f.Network = site.Network{}
		f.System.Kernel = site.Of("6.1.0", "/proc/sys/kernel/osrelease")
		if i == 617 {
			f.System.Kernel = site.Of("5.14.0", "/proc/sys/kernel/osrelease")
		}
		b.Facts = append(b.Facts, f)
	}
	var buf bytes.Buffer
	if err := b.Write(&buf); err != nil {
		t.Fatal(err)
	}
	doc, err := check.New(check.All())
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	got, err := Read(&buf)
	if err != nil {
		t.Fatal(err)
	}
	fs := doc.Run(check.Input{Nodes: got.Facts})
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("took %s", took)
	}
	if len(fs) != 1 || fs[0].Key != "nodes-differ" || len(fs[0].Evidence) != 1 || !strings.HasPrefix(fs[0].Evidence[0].File, "n0617:") {
		t.Errorf("%+v", fs)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(archive(f, file("bundle.json", head), file("facts/n.json", `[{"node":"n1"}]`)).Bytes())
	f.Add(archive(f, file("../x", "y")).Bytes())
	f.Fuzz(func(_ *testing.T, b []byte) { _, _ = Read(bytes.NewReader(b)) })
}

func FuzzDecode(f *testing.F) {
	var b bytes.Buffer
	_ = Encode(&b, "n1", []site.Facts{sample("n1")})
	f.Add(b.String())
	f.Add("nearmetal-facts a 0 16384 \nnearmetal-facts a 1 2 QQ==\n")
	f.Fuzz(func(_ *testing.T, s string) { _, _ = Decode(strings.NewReader(s)) })
}

func FuzzParsers(f *testing.F) {
	f.Add("STATUS: x\nDECODE_TIME: (7)\nn1|idle|none\nlibx.so.1 => not found\n0, a, b, c, d, e, f, g, h, i\n")
	f.Add("DECODE_TIME: (")
	f.Fuzz(func(_ *testing.T, s string) {
		parseUnmunge(strings.NewReader(s))
		parseStates(s)
		parseLdd(s)
		parseGPUs(s)
		parseMPIList(s)
		parseConfig(s)
		NewRedactor([]string{"n1"}, []string{"alice"}).Text(s)
		failedNodes(strings.Split(s, "\n"), nil)
	})
}
