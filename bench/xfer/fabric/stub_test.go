//go:build !cgo

package fabric

import (
	"errors"
	"testing"
)

func TestOpenSaysWhatIsMissing(t *testing.T) {
	if _, err := Open(Config{Groups: [][]Rail{{{Provider: "tcp"}}}}); !errors.Is(err, ErrNoEngine) || Available {
		t.Error(err)
	}
}
