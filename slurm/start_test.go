package slurm

import (
	"slices"
	"strings"
	"testing"

	"github.com/nearmetal/nearmetal/internal/fail"
)

func TestAutoSharesOnlyWhatLooksTheSame(t *testing.T) {
	for options, want := range map[string]StartMode{
		"":                               StartJoined,
		"--home /a:/b --no-mount=tmp":    StartJoined,
		"-B /x --pwd --contain":          StartJoined, // a directory of that name
		"--contain":                      StartExec,
		"-C":                             StartExec,
		"--pid":                          StartExec,
		"--writable-tmpfs":               StartExec,
		"--overlay /o":                   StartExec,
		"--fakeroot":                     StartExec,
		"--env A=$RANDOM":                StartExec,
		"--cleanenv":                     StartExec,
		"--nvccli":                       StartExec,
		"--no-mount home --scratch /tmp": StartExec,
		"--an-option-of-tomorrow":        StartExec,
	} {
		s, err := ChooseStart(StartAuto, "/opt/nearmetal-enter", Target{Options: strings.Fields(options)})
		if err != nil || s.Mode != want || s.Why == "" {
			t.Errorf("%q: %+v %v, want %s", options, s, err, want)
		}
	}
	if s, _ := ChooseStart(StartAuto, "", Target{}); s.Mode != StartExec {
		t.Errorf("without nearmetal-enter: %+v", s)
	}
}

func TestJoinedLine(t *testing.T) {
	p := plan(Container, "prog", "-x")
	plain, err := p.Argv()
	if err != nil {
		t.Fatal(err)
	}
	p.Target.Start = Start{Mode: StartJoined, Enter: "/opt/nearmetal-enter"}
	joined, err := p.Argv()
	if err != nil {
		t.Fatal(err)
	}
	at := slices.Index(plain, "apptainer")
	if want := slices.Insert(slices.Clone(plain), at, "/opt/nearmetal-enter", "4"); !slices.Equal(joined, want) {
		t.Errorf("got  %q\nwant %q", joined, want)
	}
	hold, err := p.Hold(3)
	if err != nil || !slices.Equal(hold[len(hold)-8:], []string{"/opt/nearmetal-enter", "--hold", "--until-eof", "4", "apptainer", "-s", "exec", "/images/a b.sif"}) {
		t.Errorf("hold %q %v", hold, err)
	}
	p.Target.Start.Enter = "nearmetal-enter"
	if _, err := p.Argv(); fail.Code(err) != fail.Usage {
		t.Errorf("a relative path: %v", err)
	}
	native := plan(Native, "prog")
	if hold, err := native.Hold(3); hold != nil || err != nil {
		t.Errorf("native: %q %v", hold, err)
	}
}
