package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config/tree"
	"ulnet/cmd/internal/node"
)

func importCommand(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "import [--add|--del|--show|--exec] [FILE]",
		Short: "Apply a file of configuration to the node, or remove or show what it has",
		Long: `Adds to the running node what a file has, or standard input: one of 'lnetctl export', of
a kernel's tool, or written by hand. Items are applied in the order of the file. An error ends its
section, and one of networks ends all; items before it stay applied, and their lines are told. Unknown
keys inside of net, route and peer are ignored, as by the kernel's tool; 'lnetctl diff' lists
what import would change. --del removes what the file has, --show shows the state of that, and
--exec pings and discovers what stands under these keys besides.`,
		Example: `  lnetctl import lnet.conf
  lnetctl export --backup | ssh other lnetctl import`,
		Args: cobra.MaximumNArgs(1),
	}
	flags := [4]bool{}
	for i, name := range []string{"add", "del", "show", "exec"} {
		c.Flags().BoolVarP(&flags[i], name, name[:1], false, [...]string{"add what the file has: the default", "remove what the file has", "show the state of what the file has", "add, ping and discover"}[i])
	}
	c.MarkFlagsMutuallyExclusive("add", "del", "show", "exec")
	c.RunE = func(c *cobra.Command, args []string) error {
		f, err := readTree(c, args)
		if err != nil {
			return err
		}
		switch {
		case flags[2]:
			return showFile(c, g, f)
		case flags[1]:
			return applyFile(c, g, tree.Del, f)
		case flags[3]:
			return applyFile(c, g, tree.Exec, f)
		}
		return applyFile(c, g, tree.Add, f)
	}
	return c
}

// readTree reads a file, or standard input.
func readTree(c *cobra.Command, args []string) (*tree.File, error) {
	in := c.InOrStdin()
	if len(args) == 1 && args[0] != "-" {
		f, err := os.Open(args[0])
		if err != nil {
			return nil, openFailed(args[0], err)
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, tree.MaxSize+1))
	if err != nil {
		return nil, err
	}
	f, err := tree.Read(text)
	if err != nil {
		return nil, unreadable(err)
	}
	return f, nil
}

// openFailed returns the error for a file that cannot be opened.
func openFailed(path string, err error) error {
	errno := syscall.ENOENT
	errors.As(err, &errno)
	return &kernelError{
		text: fmt.Sprintf("yaml:\n    - builder:\n          errno: -1\n          descr: cannot open '%s': %s\n", path, cli.Strerror(errno)),
		exit: -int(errno) & 0xff,
	}
}

// unreadable returns the error for a file that cannot be read as a whole.
func unreadable(err error) error {
	if e, ok := errors.AsType[*tree.Error](err); ok {
		e.Verb = tree.Add.String()
		return importFailed([]*tree.Error{e}, nil)
	}
	return &kernelError{text: err.Error() + "\n", exit: -int(syscall.EINVAL) & 0xff}
}

// importFailed joins the errors of the items of a file into one error.
func importFailed(errs []*tree.Error, comments []string) error {
	e := &kernelError{exit: -int(syscall.EINVAL) & 0xff}
	var text strings.Builder
	for _, one := range errs {
		_ = one.Write(&text) // cannot fail: writing to a strings.Builder never does
		if one.Errno == syscall.ENOMSG {
			e.exit = -int(one.Errno) & 0xff
		}
		e.comments = append(e.comments, commentsOn(one)...)
	}
	e.text, e.comments = text.String(), append(e.comments, comments...)
	return e
}

// commentsOn returns the line of the file to which an error refers, and the error that the node
// returned.
func commentsOn(e *tree.Error) []string {
	switch {
	case e.Cause != nil && cli.HintOf(e.Cause) != "":
		return []string{fmt.Sprintf("line %d: %v", e.Line, e.Cause), "  " + cli.HintOf(e.Cause)}
	case e.Cause != nil:
		return []string{fmt.Sprintf("line %d: %v", e.Line, e.Cause)}
	case e.Line > 0 && !strings.HasSuffix(e.Text, "rc = -22"):
		return []string{e.Error()}
	}
	return nil
}

// applyFile applies a file to the node.
func applyFile(c *cobra.Command, g *globals, v tree.Verb, f *tree.File) error {
	e := node.Remote(g.client())
	if _, err := e.Status(c.Context()); err != nil { // an error means that no daemon answers
		return err
	}
	r := tree.Apply(c.Context(), e, v, f)
	for _, w := range r.Warnings {
		fmt.Fprintf(c.ErrOrStderr(), "# warning: %s\n", w)
	}
	if len(r.Errs) == 0 {
		return nil
	}
	return importFailed(r.Errs, doneBefore(r))
}

// shownLines bounds the numbers of lines that linesOf lists.
const shownLines = 32

// doneBefore returns lines that say what was applied before an error occurred.
func doneBefore(r tree.Result) (texts []string) {
	if len(r.Done)+len(r.Perhaps) == 0 {
		return []string{"nothing was changed"}
	}
	if len(r.Done) > 0 {
		texts = append(texts, "applied are the items of the lines "+linesOf(r.Done))
	}
	if len(r.Perhaps) > 0 {
		texts = append(texts, "perhaps applied, as the request was interrupted: lines "+linesOf(r.Perhaps))
	}
	return texts
}

// linesOf lists the lines of the first items.
func linesOf(items []tree.Item) string {
	lines := make([]string, 0, len(items))
	for _, i := range items {
		lines = append(lines, fmt.Sprint(i.Line))
	}
	if more := len(lines) - shownLines; more > 0 {
		lines = append(lines[:shownLines], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, ", ")
}
