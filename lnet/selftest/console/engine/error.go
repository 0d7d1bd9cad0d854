package engine

import (
	"fmt"
	"syscall"
)

// Error is why a command failed. errors.Is finds Errno in it, which is the one that a kernel's
// console returns for the same command.
type Error struct {
	Errno syscall.Errno // number of the error
	Why   string        // what is wrong
	Hint  string        // what to do next
}

// Error implements error.
func (e *Error) Error() string { return "selftest console: " + e.Why + ": " + e.Hint }

// Unwrap returns Errno.
func (e *Error) Unwrap() error { return e.Errno }

// fail returns an error with a hint.
func fail(errno syscall.Errno, hint, format string, args ...any) error {
	return &Error{Errno: errno, Why: fmt.Sprintf(format, args...), Hint: hint}
}
