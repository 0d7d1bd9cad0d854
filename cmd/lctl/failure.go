package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
)

// failure is an error in the form of Lustre's lctl: the text alone, without a prefix, and exit
// code 1. A hint for the user follows the text.
type failure struct {
	text string
	hint string // what the user can do next; "": no hint
	err  error
}

func (f *failure) Error() string { return f.text }
func (f *failure) Unwrap() error { return f.err }

// ExitCode implements cli.Shown.
func (f *failure) ExitCode() int { return cli.Failed }

// Show implements cli.Shown.
func (f *failure) Show(_, stderr io.Writer) {
	fmt.Fprintln(stderr, f.text)
	if f.hint != "" {
		fmt.Fprintf(stderr, "  %s\n", f.hint)
	}
}

// dialect turns each error into a failure with lctl's text.
func dialect(cmd *cobra.Command, err error, usage bool) error {
	f := &failure{strings.TrimSpace(err.Error()), cli.HintOf(err), err}
	if verb, ok := errors.AsType[*cli.VerbError](err); ok && verb.Verb != "" {
		f.text, f.hint = fmt.Sprintf("lctl: '%s' is not a valid command. See 'lctl --list-commands'.", verb.Verb), ""
	} else if usage && f.hint == "" {
		f.hint = fmt.Sprintf("see '%s --help'", cmd.CommandPath())
	}
	return f
}
