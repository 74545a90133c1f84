package spack

import (
	"os"
	"strings"
	"testing"

	"github.com/sebdah/goldie/v2"
)

func load(t *testing.T) Catalogue {
	t.Helper()
	c, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// pieces reads "openmpi@5.0 pmix ucx@1.16".
func pieces(s string) []Piece {
	var out []Piece
	for _, w := range strings.Fields(s) {
		name, v, _ := strings.Cut(w, "@")
		out = append(out, Piece{name, v})
	}
	return out
}

// TestCatalogueIsComplete: every rule has a reason and a source, names software
// that there is, and can be broken by some version of it.
func TestCatalogueIsComplete(t *testing.T) {
	c := load(t)
	for i, s := range c {
		if s.Name != order[i] || s.What == "" || len(s.Versions) == 0 || s.Package == "" && s.Name != "driver" {
			t.Errorf("%s: incomplete %+v", order[i], s)
		}
		for j := 1; j < len(s.Versions); j++ {
			if Compare(s.Versions[j-1], s.Versions[j]) <= 0 {
				t.Errorf("%s: %s does not come before %s", s.Name, s.Versions[j-1], s.Versions[j])
			}
		}
		for _, r := range s.Rules {
			name, ranges := r.target()
			if _, ok := c.Find(name); !ok || r.Reason == "" || r.Source == "" {
				t.Errorf("%s: rule %+v is incomplete", s.Name, r)
			}
			if ranges == "" && !r.Named && !r.Excludes {
				t.Errorf("%s: rule %+v holds always", s.Name, r)
			}
		}
		for _, w := range s.With {
			if _, ok := c.Find(w.Has); !ok {
				t.Errorf("%s: with %q", s.Name, w.Has)
			}
		}
	}
}

func TestCompareAndContain(t *testing.T) {
	for _, s := range strings.Fields("1<2 1.9<1.10 5.0<5.0.7 2.20.3-1<2.21.5-1 5.0rc1<5.0.1 1.0<1.1") {
		a, b, _ := strings.Cut(s, "<")
		if Compare(a, b) != -1 || Compare(b, a) != 1 || Compare(a, a) != 0 {
			t.Errorf("%s does not hold", s)
		}
	}
	for _, c := range []struct {
		ranges, v string
		want      bool
	}{
		{"", "1", true}, {"5", "5.0.7", true}, {"5.0", "5.01", false}, {"4.2.4:", "4.2.4", true}, {"4.2.4:", "4.2.3", false}, {"4.2.4:", "5.0", true},
		{":4.2.2", "4.2.2", true}, {":4.2.2", "4.2.3", false}, {":5", "5.0.8", true}, {":5", "6.0", false}, {"4.2.4:5", "5.1", true}, {"1.3,2:", "1.3.1", true}, {"1.3,2:", "1.4", false},
		{"525.60:", "525.60.13", true}, {"525.60:", "515", false}, {"4.2.4:5", "4", true}, {"525.60:", "525", true},
	} {
		if contains(c.ranges, c.v) != c.want {
			t.Errorf("%q contains %q: not %v", c.ranges, c.v, c.want)
		}
	}
}

func TestRefusals(t *testing.T) {
	c := load(t)
	for _, r := range []struct{ stack, reason, nearest string }{
		{"openmpi@5.0 pmix@3.2", "openmpi 5.0.10 does not work with pmix 3.2.3", "pmix 5.0.8"},
		{"openmpi@4.1.5 pmix@5.0", "pmix@:4.2.2", "pmix 4.2.2"},
		{"openmpi@4.1 pmix@6", "PMIx 6", "pmix 5.0.8"},
		{"openmpi@5.0 prrte@3 pmix@6", "pmix", "pmix 5.0.8"},
		{"openmpi@5 ucx@1.8", "ucx@1.9:", "ucx 1.20.0"},
		{"openmpi@5 ucx gdrcopy", "gdrcopy 2.5.1 needs cuda, which the stack does not name", "cuda 13.0.2"},
		{"openmpi ucx cuda@13 driver@535", "driver 580", "driver 580.65"},
		{"openmpi cuda@12.4 driver@470.57", "525.60", "driver 580.65"},
		{"openmpi nccl@2.21 cuda@13", "CUDA 13", ""},
		{"openmpi aws-ofi-nccl", "needs nccl", "nccl"},
		{"openmpi@4.1.2 ucc ucx", "UCC", "openmpi"},
		{"openmpi@4.1 prrte@3", "ORTE", "openmpi 5.0.10"},
		{"mpich prrte", "Hydra", "openmpi"},
		{"openmpi@5 hwloc@1", "hwloc", "hwloc 2.12.2"},
	} {
		got := c.Check(pieces(r.stack))
		if got == nil {
			t.Errorf("%s: accepted", r.stack)
			continue
		}
		if !strings.Contains(got.Error(), r.reason) || got.Source == "" {
			t.Errorf("%s: %s", r.stack, got)
		}
		if r.stack == "mpich prrte" {
			continue // there is no version of MPICH that would do
		}
		if got.Nearest == nil || c.Check(got.Nearest) != nil {
			t.Errorf("%s: nearest %v is refused itself", r.stack, got.Nearest)
		}
		if !strings.Contains(got.Error(), r.nearest) {
			t.Errorf("%s: nearest is not %s: %s", r.stack, r.nearest, got)
		}
	}
}

func TestAccepted(t *testing.T) {
	c := load(t)
	for _, s := range []string{
		"openmpi", "openmpi@5.0 pmix@5.0 prrte@3 ucx@1.16", "openmpi@5 pmix ucx libfabric hwloc rdma-core", "openmpi@4.1 pmix@4.2.2 ucx@1.18 ucc",
		"openmpi@5.0 cuda@12.4 ucx gdrcopy driver@535 ucc nccl", "mpich@4.2 libfabric pmix", "openmpi cuda nccl aws-ofi-nccl libfabric nccl-tests osu-micro-benchmarks",
		"openmpi@5.0.7 pmix@5.0.7 ucx@1.18 libfabric@2.1", "openmpi@5 pmix@9.97", "openmpi@7 pmix@7",
	} {
		if s == "openmpi@5 pmix@9.97" {
			if c.Check(pieces(s)) == nil {
				t.Errorf("%s: a PMIx from after 5 with Open MPI 5", s)
			}
			continue
		}
		if got := c.Check(pieces(s)); got != nil {
			t.Errorf("%s: %v", s, got)
		}
	}
}

// TestCheckIsQuick: the whole catalogue at any version, with a contradiction.
func TestCheckIsQuick(t *testing.T) {
	c := load(t)
	var all []Piece
	for _, n := range Names() {
		if n != "mpich" {
			all = append(all, Piece{Name: n})
		}
	}
	if got := c.Check(append(all, Piece{"driver", "470"})); got != nil {
		t.Error(got) // CUDA 11 does
	}
	for i := range all {
		if all[i].Name == "cuda" {
			all[i].Version = "13"
		}
	}
	if got := c.Check(append(all, Piece{"driver", "470"})); got == nil {
		t.Error("CUDA 13 under driver 470")
	}
}

func TestRender(t *testing.T) {
	c := load(t)
	for name, e := range map[string]Environment{
		"openmpi5": {Version: "0.23", Stack: pieces("openmpi@5.0 pmix@5.0 ucx@1.16 libfabric@1.21"), Target: "x86_64_v3", Compiler: "gcc@12.2.0", Repos: []Named{{"overlay", Repos + "/overlay"}}, Mirrors: []Named{{"site", "file://" + Mirror}}},
		"gpu":      {Version: "1.0", Stack: pieces("openmpi@5.0 pmix ucx libfabric rdma-core gdrcopy cuda@12.4 nccl aws-ofi-nccl driver@550"), Specs: []string{"gromacs@2024 +mpi"}, Variants: map[string]string{"cuda": "+allow-unsupported-compilers", "openmpi": "+rsh"}, Repos: []Named{{"ours", Repos + "/ours"}}},
	} {
		text, err := c.Render(e)
		if err != nil {
			t.Fatal(err)
		}
		goldie.New(t, goldie.WithNameSuffix(".golden")).Assert(t, name, []byte(text))
	}
}

func TestReadLock(t *testing.T) {
	f, err := os.Open("testdata/openmpi5.spack.lock")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l, err := ReadLock(f)
	if err != nil {
		t.Fatal(err)
	}
	if l.Spack != "0.23.0.dev0" || l.Version("openmpi") != "5.0.3" || l.Version("pmix") != "5.0.1" || l.Version("nothing") != "" || len(l.Roots) != 4 {
		t.Error(l.Spack, l.Roots, l.Version("openmpi"))
	}
	order, err := l.Order()
	if err != nil || len(order) != len(l.Nodes) {
		t.Fatal(len(order), len(l.Nodes), err)
	}
	at := map[string]int{}
	for i, n := range order {
		at[n.Hash] = i
		for _, d := range n.Needs {
			if j, done := at[d.Hash]; !done || j >= i {
				t.Errorf("%s comes before what it needs", n.Name)
			}
		}
		if n.OS != "debian12" || n.Target != "x86_64_v3" || n.Compiler != "gcc@12.2.0" {
			t.Errorf("%+v", n)
		}
	}
	var names []string
	for _, n := range l.Closure() {
		names = append(names, n.Name)
	}
	closure := strings.Join(names, " ")
	if strings.Contains(closure, "autoconf") || !strings.Contains(closure, "gcc-runtime") || len(names) >= len(l.Nodes) {
		t.Error(closure)
	}
	t.Logf("%d packages, %d at run time", len(l.Nodes), len(names))
}

func FuzzReadLock(f *testing.F) {
	real, err := os.ReadFile("testdata/openmpi5.spack.lock")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(real))
	f.Add(`{"_meta":{"file-type":"spack-lockfile","lockfile-version":5},"roots":[{"hash":"a"}],"concrete_specs":{"a":{"name":"x","dependencies":[{"hash":"a"}]}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		if l, err := ReadLock(strings.NewReader(text)); err == nil {
			_ = l.Closure()
			if order, err := l.Order(); err != nil || len(order) != len(l.Nodes) {
				t.Error("a lock was read that has no order")
			}
		}
	})
}

// TestReadLockOfARealBuild: what the lock promised is what the log installed.
func TestReadLockOfARealBuild(t *testing.T) {
	f, err := os.Open("testdata/small/small.spack.lock")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l, err := ReadLock(f)
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile("testdata/small/build.log")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range l.Nodes {
		installed := strings.Contains(string(log), "Successfully installed "+n.Name+"-"+n.Version+"-"+n.Hash)
		if installed == n.External {
			t.Errorf("%s: external %v, installed %v", n.Name, n.External, installed)
		}
	}
	if l.Version("zlib") != "1.2.13" || len(l.Nodes) != 5 {
		t.Error(len(l.Nodes), l.Version("zlib"))
	}
}
