package fail

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"
)

func TestCode(t *testing.T) {
	cases := []struct {
		err  error
		want int
	}{
		{nil, OK},
		{errors.New("plain"), Failed},
		{Usagef("", "bad"), Usage},
		{fmt.Errorf("wrapped: %w", Missingf("apt-get install x", "no x")), Missing},
		{Exit(42), 42},
	}
	for _, c := range cases {
		if got := Code(c.err); got != c.want {
			t.Errorf("Code(%v) = %d, want %d", c.err, got, c.want)
		}
	}
}

func TestHintAndCauseSurviveWrapping(t *testing.T) {
	inner := New(Failed, "look here", "open recipe: %w", fs.ErrNotExist)
	err := fmt.Errorf("build: %w", inner)
	if got := Hint(err); got != "look here" {
		t.Errorf("Hint = %q", got)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		t.Error("the cause is lost")
	}
	if got, want := err.Error(), "build: open recipe: file does not exist"; got != want {
		t.Errorf("text %q, want %q", got, want)
	}
	if got := Hint(New(Failed, "", "outer: %w", inner)); got != "look here" {
		t.Errorf("inner hint lost: %q", got)
	}
}
