package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
)

// Exit codes of Lustre's tool.
const (
	badUsage  = 4
	noGroups  = 234 // -EINVAL: list_group has found no group
	nodeError = 253 // -3: a node has refused what it was asked to do
	rpcError  = 254 // -2: a node has not answered
	localFail = 255 // -1: the command failed at the console
)

// failure is an error in the form of Lustre's lst.
type failure struct {
	text  string // lines for standard error; "": none
	usage string // how the command is used, for standard output; "": not shown
	more  string // what Lustre's text does not say, for people at a terminal; "": nothing
	code  int    // exit code
	err   error  // cause; may be nil
}

func (f *failure) Error() string { return f.text }
func (f *failure) Unwrap() error { return f.err }

// ExitCode implements cli.Shown.
func (f *failure) ExitCode() int { return f.code }

// Show implements cli.Shown.
func (f *failure) Show(stdout, stderr io.Writer) {
	if f.usage != "" {
		fmt.Fprintln(stdout, "Usage: lst "+f.usage)
	}
	_, _ = io.WriteString(stderr, f.lines(cli.IsTerminal(stderr))) // an error is ignored: standard error is where it would be reported
}

// lines returns the lines for standard error, which may be a terminal.
func (f *failure) lines(terminal bool) (lines string) {
	if f.text != "" {
		lines = f.text + "\n"
	}
	if f.more != "" && terminal {
		lines += "  " + f.more + "\n"
	}
	return lines
}

// failf returns a failure of the console with this text.
func failf(format string, args ...any) *failure {
	return &failure{text: fmt.Sprintf(format, args...), code: localFail}
}

// silent returns a failure without a text, for a command whose output already says what failed.
// It returns nil if the code is OK.
func silent(code int) error {
	if code == cli.OK {
		return nil
	}
	return &failure{code: code}
}

// annotation is the key under which a command has the usage text of Lustre's tool.
const annotation = "usage"

// usageText returns the annotations of a command with a usage text.
func usageText(text string) map[string]string { return map[string]string{annotation: text} }

// errMissing is the error of a command without all of its arguments. Lustre's tool then prints
// the usage and nothing else.
var errMissing = cli.Usagef("an argument is missing")

// dialect turns each error into a failure.
func dialect(cmd *cobra.Command, err error, usage bool) error {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	f := &failure{text: "lst: " + strings.TrimSpace(err.Error()), code: localFail, err: err}
	verb, isVerb := errors.AsType[*cli.VerbError](err)
	hint := cli.HintOf(err)
	switch {
	case isVerb:
		f.text, hint = fmt.Sprintf("lst: '%s' is not a valid command. See 'lst --list-commands'.", verb.Verb), ""
	case usage:
		f.code, f.usage = badUsage, cmd.Annotations[annotation]
		if f.usage == "" && hint == "" {
			hint = fmt.Sprintf("see 'lst help %s'", cmd.Name())
		}
		if errors.Is(err, errMissing) {
			f.text = ""
		}
	}
	if hint != "" {
		f.text += "\n  " + hint
	}
	return f
}

// errnoOf returns the errno with which the console has refused a command, or false if the error
// does not come from the console.
func errnoOf(err error) (syscall.Errno, bool) {
	errno, ok := errors.AsType[syscall.Errno](err)
	return errno, ok && control.FromNode(err)
}

// refusal returns the error of a command that the console has refused, in the words of Lustre's
// tool (lst_print_error). The argument subject names the kind of object, such as "group". For an
// errno that means nothing special to that tool, the text begins with the argument what, such as
// "Failed to delete group". An error that Lustre's console does not have stays as it is.
func refusal(err error, subject, what string) error {
	errno, ok := errnoOf(err)
	if !ok {
		return err
	}
	f := &failure{code: localFail, more: err.Error(), err: err}
	if hint := cli.HintOf(err); hint != "" {
		f.more += "; " + hint
	}
	switch errno {
	case syscall.ESRCH:
		f.text = "No session exists"
	case syscall.ESHUTDOWN:
		f.text = "Session is shutting down"
	case syscall.EACCES:
		f.text = "Unmatched session key or not root"
	case syscall.ENOENT:
		f.text = fmt.Sprintf("Can't find %s in current session", subject)
	case syscall.EINVAL:
		f.text = "Invalid parameters list in command line"
	case syscall.EEXIST:
		f.text = subject + " already exists"
	case syscall.EBUSY, syscall.EOPNOTSUPP, syscall.ENETDOWN:
		f.text = what + ": " + cli.Strerror(errno)
	default:
		return err
	}
	return f
}

// plainRefusal does what refusal does, for commands for which Lustre's tool prints only the text of the errno.
func plainRefusal(err error, what string) error {
	errno, ok := errnoOf(err)
	f, isFailure := errors.AsType[*failure](refusal(err, "", what))
	if !ok || !isFailure {
		return err
	}
	f.text = what + ": " + cli.Strerror(errno)
	return f
}

// Texts that Lustre's tool prints when it gets an error while it reads the kernel's answer.
const (
	noObject  = "Reader error: 'Object not found' at 0\n"
	noSession = "Reader error: 'session is not active' at 0\n"
	notMade   = "Reader error: 'new session creation failed' at 0\n"
)

// after returns the failure err with lines before its text.
func after(lines string, err error) error {
	f, ok := errors.AsType[*failure](err)
	if !ok || lines == "" {
		return err
	}
	again := *f
	again.text = lines + f.text
	return &again
}
