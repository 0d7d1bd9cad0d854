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

// exitInvalid is the exit code of the kernel's tool for −EINVAL.
const exitInvalid = 256 - int(syscall.EINVAL)

// exitNegative is the exit code of the kernel's tool for −1.
const exitNegative = 255

// kernelError is an error in one of the forms of the kernel's tool. Further information that
// ulnet has follows as YAML comments.
type kernelError struct {
	text     string // text of the error, with its last line end; "": the command has already printed what is wrong
	exit     int
	stays    bool     // the text goes to standard output, where the kernel's tool prints this error
	comments []string // comments that follow the text
	cause    error    // ulnet's own error, which has more information; nil: there is none
}

func (e *kernelError) Error() string { return strings.TrimSpace(e.text) }
func (e *kernelError) Unwrap() error { return e.cause }

// ExitCode implements cli.Shown.
func (e *kernelError) ExitCode() int { return e.exit }

// Show implements cli.Shown.
func (e *kernelError) Show(stdout, stderr io.Writer) {
	out := stderr
	if e.stays {
		out = stdout
	}
	fmt.Fprint(out, e.text)
	for _, c := range e.comments {
		fmt.Fprintf(stderr, "# %s\n", indentComment(c))
	}
	if e.cause == nil {
		return
	}
	fmt.Fprintf(stderr, "# lnetctl: %s\n", indentComment(strings.TrimSpace(e.cause.Error())))
	if hint := cli.HintOf(e.cause); hint != "" {
		fmt.Fprintf(stderr, "#   %s\n", indentComment(hint))
	}
}

func indentComment(text string) string { return strings.ReplaceAll(text, "\n", "\n#   ") }

// netlinkError returns an error in the form in which the kernel's tool prints errors that come
// by netlink.
func netlinkError(section, item string, errno int, descr string, cause error) *kernelError {
	return &kernelError{
		text:  fmt.Sprintf("---\n%s:\n-     %s:\n      errno: %d\n      descr: ! %q\n...\n", section, item, errno, descr),
		exit:  exitInvalid,
		cause: cause,
	}
}

// plainError returns an error in the older form of the kernel's tool, whose exit code is the low byte of the
// errno.
func plainError(section, item string, errno int, descr string, cause error) *kernelError {
	return &kernelError{
		text:  fmt.Sprintf("%s:\n    - %s:\n          errno: %d\n          descr: %s\n", section, item, errno, descr),
		exit:  errno & 0xff,
		cause: cause,
	}
}

// textError returns an error that is one line of plain text.
func textError(exit int, cause error, format string, args ...any) *kernelError {
	return &kernelError{text: fmt.Sprintf(format, args...) + "\n", exit: exit, cause: cause}
}

// onStdout makes an error go to standard output, where the kernel's tool prints it.
func (e *kernelError) onStdout() *kernelError {
	e.stays = true
	return e
}

// errnoOf returns the errno of an error, or EINVAL if the error has none.
func errnoOf(err error) syscall.Errno {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno
	}
	return syscall.EINVAL
}

// dialect gives an error of a command line the form and the exit code of the kernel's tool.
// Commands that only ulnet has keep their own form.
func dialect(cmd *cobra.Command, err error, usage bool) error {
	if verb, ok := errors.AsType[*cli.VerbError](err); ok {
		return verbError(cmd, verb)
	}
	if _, done := errors.AsType[*kernelError](err); done || !isKernelVerb(cmd) {
		return err
	}
	if text := err.Error(); usage && strings.HasPrefix(text, "unknown ") {
		return unknownOption(cmd, err)
	}
	if usage {
		return usageOf(cmd, err)
	}
	return err
}

// verbError returns the error for a noun without a verb, after printing the help of the noun, or
// for a noun with a verb that it does not have.
func verbError(cmd *cobra.Command, err *cli.VerbError) error {
	if err.Verb == "" {
		var help strings.Builder
		cmd.SetOut(&help)
		if cmd.Help() == nil {
			return (&kernelError{text: help.String(), exit: exitInvalid, cause: err}).onStdout()
		}
	}
	return textError(exitNegative, err, "lnetctl: '%s' is not a valid command. See 'lnetctl --list-commands'.", err.Verb)
}

// unknownOption returns the error for an option that a verb does not have.
func unknownOption(cmd *cobra.Command, err error) error {
	text := err.Error()
	option := "'" + text[strings.LastIndex(text, " ")+1:] + "'"
	form := "%s: unrecognized option %s"
	if strings.HasPrefix(text, "unknown shorthand") {
		option = text[strings.Index(text, "'"):]
		form = "%s: invalid option -- %s"
	}
	return textError(exitInvalid, cli.Hint(err, "see '%s --help'", cmd.CommandPath()), form, cmd.Name(), option)
}

// usageOf returns the error for a command line for which the kernel's tool has no text.
func usageOf(cmd *cobra.Command, err error) error {
	if cli.HintOf(err) == "" {
		err = cli.Hint(err, "see '%s --help'", cmd.CommandPath())
	}
	return plainError(cmd.Name(), nounOf(cmd), -int(syscall.EINVAL), `"Invalid option or missing argument"`, err)
}

// nounOf returns the noun of a verb, or the verb itself if it has no noun.
func nounOf(cmd *cobra.Command) string {
	if parent := cmd.Parent(); parent != nil && parent.HasParent() {
		return parent.Name()
	}
	return cmd.Name()
}

// kernelNouns are the nouns that the kernel's tool also has. Below them, even verbs that only
// ulnet has show errors in the same way.
var kernelNouns = map[string]bool{
	"lnet": true, "net": true, "peer": true, "route": true, "routing": true, "set": true, "global": true, "stats": true, "ping": true,
	"discover": true, "udsp": true, "fault": true, "debug": true, "cpt-of-nid": true, "service-id": true, "setup-mrrouting": true, "setup-sysctl": true, "import": true, "export": true,
}

// isKernelVerb reports whether a command is one of the kernel's tool.
func isKernelVerb(cmd *cobra.Command) bool {
	for cmd.HasParent() && cmd.Parent().HasParent() {
		cmd = cmd.Parent()
	}
	return kernelNouns[cmd.Name()]
}

// failing gives an error of a request to the node the form of the kernel's tool: the action, its
// object, and a text that says what failed. Errors on the way to the daemon stay as they are.
func failing(err error, section, item, descr string) error {
	if _, done := errors.AsType[*kernelError](err); err == nil || done || !control.FromNode(err) {
		return err
	}
	return netlinkError(section, item, -int(errnoOf(err)), descr, err)
}

// failingPlainly is like failing, but in the older form, with the text of the errno at the end.
func failingPlainly(err error, section, item, descr string) error {
	if _, done := errors.AsType[*kernelError](err); err == nil || done || !control.FromNode(err) {
		return err
	}
	errno := errnoOf(err)
	return plainError(section, item, -int(errno), fmt.Sprintf("%q", descr+cli.Strerror(errno)), err)
}
