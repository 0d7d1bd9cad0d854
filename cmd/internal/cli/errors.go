package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// usageError is an error of the command line.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// Usagef returns an error that ends the command with exit code Usage. Verbs return it for
// mistakes that flags and argument counts cannot detect.
func Usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// hinted is an error with a hint what to do next.
type hinted struct {
	err  error
	hint string
}

func (e *hinted) Error() string { return e.err.Error() }
func (e *hinted) Unwrap() error { return e.err }

// Hint returns err with a line that tells what to do next. Run prints it after the error. If an
// error has several hints, Run prints the outermost. A nil err stays nil.
func Hint(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return &hinted{err, fmt.Sprintf(format, args...)}
}

// configError is an error of a daemon's configuration.
type configError struct{ error }

func (e *configError) Unwrap() error { return e.error }

// ConfigError returns err, which ends the command with exit code Config. A nil err stays nil.
func ConfigError(err error) error {
	if err == nil {
		return nil
	}
	return &configError{err}
}

// ExitCode returns the exit code, Config or Failed, of a command that fails with err. An error of the
// command line, which has the exit code Usage, must not be passed to it.
func ExitCode(err error) int {
	if _, ok := errors.AsType[*configError](err); ok {
		return Config
	}
	return Failed
}

// HintOf returns the hint of err, or "".
func HintOf(err error) string {
	if h, ok := errors.AsType[*hinted](err); ok {
		return h.hint
	}
	return ""
}

// numbered is an error with an errno.
type numbered struct {
	errno syscall.Errno
	err   error
}

func (e *numbered) Error() string   { return e.err.Error() }
func (e *numbered) Unwrap() []error { return []error{e.errno, e.err} }

// Errno returns an error with the text of err, in which errors.Is finds errno as well.
func Errno(errno syscall.Errno, err error) error { return &numbered{errno, err} }

// Errnof is Errno for an error that fmt.Errorf makes of the format and its arguments.
func Errnof(errno syscall.Errno, format string, args ...any) error {
	return Errno(errno, fmt.Errorf(format, args...))
}

// Strerror returns the text of an errno, as the C library has it.
func Strerror(errno syscall.Errno) string {
	text := errno.Error()
	return strings.ToUpper(text[:1]) + text[1:]
}

// explainFlag rewords the error of a flag whose number cannot be parsed; it returns all
// other errors as they are.
func explainFlag(_ *cobra.Command, err error) error {
	invalid, isValue := errors.AsType[*pflag.InvalidValueError](err)
	number, isNumber := errors.AsType[*strconv.NumError](err)
	if !isValue || !isNumber {
		return err
	}
	want := "a number"
	switch invalid.GetFlag().Value.Type() {
	case "int", "int64":
		want = "a whole number"
	case "uint", "uint32", "uint64":
		want = "a whole number from 0"
	case "bool":
		want = "true or false"
	}
	if errors.Is(number.Err, strconv.ErrRange) {
		want += " that is not so large"
	}
	return fmt.Errorf("--%s: want %s, not %q", invalid.GetFlag().Name, want, invalid.GetValue())
}
