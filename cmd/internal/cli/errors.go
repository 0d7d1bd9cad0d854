package cli

import (
	"errors"
	"fmt"
)

// usageError is an error of the command line.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// Usagef returns an error that ends the command with exit code Usage. Verbs
// return it for what flags and argument counts alone cannot check.
func Usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// hinted is an error that knows what to do next.
type hinted struct {
	err  error
	hint string
}

func (e *hinted) Error() string { return e.err.Error() }
func (e *hinted) Unwrap() error { return e.err }

// Hint returns err with a line that tells what to do next. Run prints it after
// the error. Of several hints the outermost counts. A nil err stays nil.
func Hint(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return &hinted{err, fmt.Sprintf(format, args...)}
}

// HintOf returns the hint of err, or "".
func HintOf(err error) string {
	if h, ok := errors.AsType[*hinted](err); ok {
		return h.hint
	}
	return ""
}
