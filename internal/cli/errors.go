package cli

import (
	"errors"

	"github.com/nearmetal/nearmetal/internal/fail"
)

// quiet says whether the failure has been shown to the user already.
func quiet(err error) bool {
	var e *fail.Error
	return errors.As(err, &e) && e.Quiet
}
