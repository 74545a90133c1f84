package main

import (
	"bytes"
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/nearmetal/nearmetal/bench/xfer/fabric"
	"github.com/nearmetal/nearmetal/internal/fail"
)

func TestRailsAreGroups(t *testing.T) {
	got, err := parseRails("tcp", "10.0.0.1,10.0.1.1; 10.0.2.1,domain=rdmap0s6-rdm")
	want := [][]fabric.Rail{
		{{Provider: "tcp", Source: "10.0.0.1"}, {Provider: "tcp", Source: "10.0.1.1"}},
		{{Provider: "tcp", Source: "10.0.2.1"}, {Provider: "tcp", Domain: "rdmap0s6-rdm"}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v %v", got, err)
	}
	if one, err := parseRails("shm", ""); err != nil || len(one) != 1 || len(one[0]) != 1 || one[0][0].Source != "" {
		t.Errorf("%+v %v", one, err)
	}
}

func TestWorkersSpinOnlyWithACPUEach(t *testing.T) {
	for _, c := range []struct {
		flag          string
		workers, cpus int
		want          fabric.Waiting
	}{{"auto", 1, 2, fabric.Adaptive}, {"auto", 8, 2, fabric.Sleep}, {"auto", 8, 64, fabric.Adaptive}, {"spin", 8, 2, fabric.Spin}} {
		if got, err := parseWaiting(c.flag, c.workers, c.cpus); err != nil || got != c.want {
			t.Errorf("%+v: %v %v", c, got, err)
		}
	}
}

func TestSizes(t *testing.T) {
	for in, want := range map[string]int64{"0": 0, "1": 1, "4K": 4096, "3M": 3 << 20, "2G": 2 << 30} {
		if got, err := parseSize("--page", in); err != nil || got != want {
			t.Errorf("%s: %d %v", in, got, err)
		}
	}
	for _, in := range []string{"", "K", "-1", "4k", "4KK", "99999999999999999999", "9999999999G", "1.5M"} {
		if got, err := parseSize("--page", in); fail.Code(err) != fail.Usage {
			t.Errorf("%q: %d %v", in, got, err)
		}
	}
}

// Bad usage is told before anything is opened: exit code 2 and a hint.
func TestBadUsage(t *testing.T) {
	for _, args := range [][]string{
		{"client", "extra"},
		{"client", "--no-such-flag"},
		{"client", "--rails", "not-an-address"},
		{"client", "--wait", "hurry"},
		{"client", "--cpus", "one"},
		{"client", "--page", "0"},
		{"client", "--page", "64Q"},
		{"client", "--mode", "sideways"},
		{"client", "--lanes", "0"},
		{"client", "--gap", "63"},
		{"client", "--duration", "0s"},
		{"client", "--rate", "fast"},
	} {
		var talk bytes.Buffer
		if code := run(context.Background(), args, &talk, &talk); code != fail.Usage || !strings.Contains(talk.String(), "hint: ") {
			t.Errorf("%q: exit %d\n%s", args, code, talk.String())
		}
	}
}

func TestWithoutAnEngine(t *testing.T) {
	if fabric.Available {
		t.Skip("needs a build with CGO_ENABLED=0: this one has the engine")
	}
	var talk bytes.Buffer
	if code := run(context.Background(), []string{"server"}, &talk, &talk); code != fail.Missing || !strings.Contains(talk.String(), "make xfer") {
		t.Errorf("exit %d\n%s", code, talk.String())
	}
}
