package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// Run runs root with the arguments that follow the program's name and returns
// the exit code. It prints the error, if any, to stderr, once.
//
// The context of the verbs ends with SIGINT or SIGTERM; a second signal ends the process. Run
// adds to root the verbs "completion" and "man", and the option --version.
//
// Verbs need not check what they write to the output of their cobra command: Run keeps the first error of it,
// writes nothing more, and fails with that error when the verb has ended.
func Run(ctx context.Context, env Env, root *cobra.Command, args []string) int {
	return RunAs(ctx, env, root, args, nil)
}

// A Dialect turns the error of a command into the error that is shown. If usage is set, err is an
// error of the command line. If the result is a [Shown], it prints itself.
type Dialect func(cmd *cobra.Command, err error, usage bool) error

// Shown is an error that prints itself and decides the exit code of the command.
type Shown interface {
	error
	// Show writes the text of the error, with all its lines.
	Show(stdout, stderr io.Writer)
	ExitCode() int
}

// RunAs is Run for a command that shows its errors in a way of its own.
func RunAs(ctx context.Context, env Env, root *cobra.Command, args []string, dialect Dialect) int {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)

	root.SetIn(env.Stdin)
	out := &checkedWriter{to: env.Stdout}
	root.SetOut(out)
	root.SetErr(env.Stderr)
	root.SetFlagErrorFunc(explainFlag)
	root.SilenceErrors, root.SilenceUsage = true, true
	if root.Version == "" {
		root.Version = Version()
	}
	root.AddCommand(man(root))
	root.SetHelpCommand(helpCommand(root))
	running := false
	prepare(root, &running)

	cmd, err := execute(ctx, root, args)
	if failed := out.failed(); failed != nil && !errors.Is(err, failed) {
		err = failed
	}
	if err == nil {
		return OK
	}
	_, usage := errors.AsType[*usageError](err)
	_, file := errors.AsType[*fs.PathError](err) // the output of --version or of a help could not be written, which is no error of the command line
	usage = usage || !running && !file
	if dialect != nil {
		err = dialect(cmd, err, usage)
	}
	if shown, ok := errors.AsType[Shown](err); ok {
		shown.Show(env.Stdout, env.Stderr)
		return shown.ExitCode()
	}
	return report(env, cmd, err, usage)
}

// execute runs the command that the arguments name.
func execute(ctx context.Context, root *cobra.Command, args []string) (*cobra.Command, error) {
	args, err := normalise(root, args)
	if err != nil {
		cmd, _, _ := root.Find(args)
		return cmd, err
	}
	root.SetArgs(append([]string{}, args...)) // never nil: for nil, cobra takes the arguments of the process
	return root.ExecuteContextC(ctx)
}

// report prints an error to standard error and returns the exit code.
func report(env Env, cmd *cobra.Command, err error, usage bool) int {
	hint := HintOf(err)
	if hint == "" && usage {
		hint = fmt.Sprintf("see '%s --help'", cmd.CommandPath())
	}
	fmt.Fprintf(env.Stderr, "%s: %s\n", cmd.Root().Name(), strings.TrimSpace(err.Error()))
	if hint != "" {
		fmt.Fprintf(env.Stderr, "  %s\n", hint)
	}
	if usage {
		return Usage
	}
	return ExitCode(err)
}

// prepare changes the commands below c: the verbs, and the nouns, which only have further commands below
// them. Each verb sets *running when it starts: an error before that is an error of the command line. Each
// noun without a verb returns an error that lists its verbs.
func prepare(c *cobra.Command, running *bool) {
	for _, sub := range c.Commands() {
		prepare(sub, running)
	}
	if !c.Runnable() {
		c.Args = cobra.ArbitraryArgs
		c.RunE = needVerb
		return
	}
	run := c.RunE
	if run == nil {
		return
	}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		*running = true
		return run(cmd, args)
	}
}

func needVerb(c *cobra.Command, args []string) error {
	var verbs []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			verbs = append(verbs, sub.Name())
		}
	}
	list := strings.Join(verbs, ", ")
	if len(args) > 0 {
		return &VerbError{args[0], Usagef("%s has no command %q; it has %s", c.CommandPath(), args[0], list)}
	}
	return &VerbError{"", Usagef("%s needs a command: %s", c.CommandPath(), list)}
}

// VerbError is the error of a noun without a verb, or with a verb that the noun does not have.
type VerbError struct {
	Verb string // name of the verb; "": there is none
	err  error
}

func (e *VerbError) Error() string { return e.err.Error() }
func (e *VerbError) Unwrap() error { return e.err }

// next is the version under development. A program that was built without version information
// reports it.
const next = "v0.1.0-dev"

// Version returns the version of this program: the tag or revision from which it was built, from
// the information that Go puts into the program. If there is none, it returns next.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return next
}
