package app

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nearmetal/nearmetal/bench"
	"github.com/nearmetal/nearmetal/internal/fail"
)

func solver(t testing.TB) Definition {
	t.Helper()
	f, err := os.Open("testdata/solver.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d, err := Read(f, "solver.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

const output = "starting\n0: {\"result\":{\"gflops\":1}}\ntime to solution: 9.5 s\nretry\ntime to solution: 1.25 s\n{\"result\":{\"gflops\":12.5}}\n{\"other\":1}\nconverged\n"

func TestParse(t *testing.T) {
	cases, err := solver(t).Cases(2)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Parse(strings.NewReader(output), cases[2], bench.Launch{Arm: "native", Block: 4, ID: 9}, 3*time.Second)
	if err != nil || len(got) != 3 {
		t.Fatalf("%+v, %v", got, err)
	}
	want := bench.Sample{Suite: "app", Benchmark: "solver", Placement: "2 nodes, 4 ranks", Metric: "solve", Unit: "s", Size: bench.NoSize, Arm: "native", Block: 4, Launch: 9, Value: 1.25}
	if got[0] != want || got[1].Value != 12.5 || got[2].Value != 3 {
		t.Errorf("%+v", got)
	}
}

func TestWhatIsNotThereIsAnError(t *testing.T) {
	cases, _ := solver(t).Cases(1)
	for _, text := range []string{
		"", strings.Replace(output, "converged", "diverged", 1), strings.ReplaceAll(output, "time to", "x"),
		strings.ReplaceAll(output, "gflops", "x"), strings.Replace(output, "12.5", "-1", 1),
	} {
		if _, err := Parse(strings.NewReader(text), cases[0], bench.Launch{}, time.Second); fail.Code(err) != fail.Failed {
			t.Errorf("%.60q: %v", text, err)
		}
	}
}

func TestCases(t *testing.T) {
	for nodes, want := range map[int]string{1: "1x1 1x2 1x4", 2: "1x1 1x2 2x4", 4: "1x1 2x2 4x4"} {
		cases, err := solver(t).Cases(nodes)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range cases {
			got = append(got, strings.Fields(c.Name)[1]+"x"+strings.Fields(c.Name)[3])
		}
		if strings.Join(got, " ") != want || cases[2].Args[1] != "4000" {
			t.Errorf("%d nodes: %v %v", nodes, got, cases[2].Args)
		}
	}
}

func TestFaultsAreAllReported(t *testing.T) {
	_, err := Read(strings.NewReader("name: a:b\nranks: [2, 1]\nscaling: up\nmetrics: [{name: x, regexp: 'a(', json: b}]\n"), "f.yaml")
	if fail.Code(err) != fail.Usage {
		t.Fatal(err)
	}
	for _, want := range []string{"f.yaml", "not a name", "program: missing", "ascend", "neither strong", "a name and a unit", "not both", "regexp:"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
	if _, err := Read(strings.NewReader("name: x\nprogrm: y\n"), "f.yaml"); err == nil || !strings.Contains(err.Error(), "f.yaml:2:") {
		t.Errorf("unknown key: %v", err)
	}
}

func TestCatalogue(t *testing.T) {
	for _, d := range Catalogue {
		if d.About == "" {
			t.Errorf("%s: not described", d.Name)
		}
		if _, err := d.Cases(1); err != nil {
			t.Error(err)
		}
	}
}

// TestNeuronRing: the spikes do not depend on the ranks; one more is refused.
func TestNeuronRing(t *testing.T) {
	d, _ := Find("neuron-ring")
	cases, _ := d.Cases(1)
	text := "numprocs=1\n" + `{"app": "neuron-ring", "ranks": 1, "cells": 64, "spikes": 144, "solve_s": 0.8443715550001798, "wait_s": 4.676799999991932e-05}` + "\n"
	got, err := Parse(strings.NewReader(text), cases[0], bench.Launch{}, 2*time.Second)
	if err != nil || len(got) != 2 || got[0].Value != 0.8443715550001798 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := Parse(strings.NewReader(strings.Replace(text, "144", "145", 1)), cases[0], bench.Launch{}, time.Second); err == nil {
		t.Error("wrong spikes pass")
	}
}

func FuzzParse(f *testing.F) {
	cases, err := solver(f).Cases(1)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(output)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := Parse(strings.NewReader(text), cases[0], bench.Launch{}, time.Second)
		for _, s := range got {
			if !(s.Value > 0) || err != nil {
				t.Errorf("%+v, %v", s, err)
			}
		}
	})
}

func FuzzRead(f *testing.F) {
	f.Add("name: x\nprogram: y\nranks: [1]\nmetrics: [{name: a, unit: s}]\n")
	f.Fuzz(func(t *testing.T, text string) {
		if d, err := Read(strings.NewReader(text), "f"); err == nil {
			_, _ = d.Cases(2)
		}
	})
}
