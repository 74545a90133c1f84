// Package fail is the one error type that nearmetal shows to people: what went
// wrong, what to do about it, and the exit code that a script can rely on.
//
//	error: image.sif: no such file
//	hint: build it first: nearmetal build recipe.yaml -o image.sif
//
// Any other error is printed as it is and exits with Failed.
package fail

import (
	"errors"
	"fmt"
)

// Exit codes of every verb. `nearmetal run` passes the program's own code
// through and keeps Launch for its own failures, as env(1) and timeout(1) do.
const (
	OK       = 0   // fine
	Failed   = 1   // the work failed
	Usage    = 2   // wrong usage or bad input
	Findings = 3   // findings (warning or error), or a regression
	Missing  = 4   // something needed is missing
	Launch   = 125 // nearmetal run itself failed, the program did not start
)

// Error is an error with advice and an exit code.
type Error struct {
	Code int    // process exit code, one of the constants above or a program's own
	Msg  string // one sentence with its cause, without "error:"
	Hint string // a command or setting that helps, without "hint:"; may be empty
	Err  error  // the cause, for errors.Is and errors.As; may be nil
	// Quiet is set when the failure has been shown already (a program's own
	// exit status): nothing is printed, only the code counts.
	Quiet bool
}

// Error gives the sentence without the hint.
func (e *Error) Error() string { return e.Msg }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// New makes an error with a code and a hint; the message is formatted, and %w
// keeps the cause reachable.
func New(code int, hint, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Msg: err.Error(), Hint: hint, Err: errors.Unwrap(err)}
}

// Usagef is bad input: exit code 2.
func Usagef(hint, format string, args ...any) *Error { return New(Usage, hint, format, args...) }

// Missingf is something needed that is not there: exit code 4.
func Missingf(hint, format string, args ...any) *Error { return New(Missing, hint, format, args...) }

// Exit ends a verb with a program's own exit code and prints nothing.
func Exit(code int) *Error {
	return &Error{Code: code, Msg: fmt.Sprintf("exit status %d", code), Quiet: true}
}

// Code is the exit code that an error stands for; nil is OK.
func Code(err error) int {
	var e *Error
	switch {
	case err == nil:
		return OK
	case errors.As(err, &e):
		return e.Code
	}
	return Failed
}

// Hint is the advice that the outermost Error of the chain carries, or "".
func Hint(err error) string {
	for e := (*Error)(nil); errors.As(err, &e); err, e = errors.Unwrap(e), nil {
		if e.Hint != "" {
			return e.Hint
		}
	}
	return ""
}
