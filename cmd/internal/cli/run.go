package cli

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// Run runs root with the arguments that follow the program's name and returns
// the exit code. It prints the error, if any, to stderr, once.
//
// The context of the verbs ends with SIGINT or SIGTERM; a second signal ends
// the process. root gets the verbs "completion" and "man", and --version.
func Run(ctx context.Context, env Env, root *cobra.Command, args []string) int {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)

	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.SetArgs(args)
	root.SetFlagErrorFunc(explainFlag)
	root.SilenceErrors, root.SilenceUsage = true, true
	if root.Version == "" {
		root.Version = Version()
	}
	root.AddCommand(man(root))
	running := false
	prepare(root, &running)

	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return OK
	}
	_, usage := errors.AsType[*usageError](err)
	usage = usage || !running
	hint := HintOf(err)
	if hint == "" && usage {
		hint = fmt.Sprintf("see '%s --help'", cmd.CommandPath())
	}
	fmt.Fprintf(env.Stderr, "%s: %s\n", root.Name(), strings.TrimSpace(err.Error()))
	if hint != "" {
		fmt.Fprintf(env.Stderr, "  %s\n", hint)
	}
	if usage {
		return Usage
	}
	return Failed
}

// prepare makes every verb below c set *running when it starts, so that errors
// before that are known as errors of usage, and gives nouns without a verb an
// error that lists the verbs.
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
		return Usagef("%s has no command %q; it has %s", c.CommandPath(), args[0], list)
	}
	return Usagef("%s needs a command: %s", c.CommandPath(), list)
}

// next is the version that is being developed: what a program without a version of its own says.
const next = "v0.1.0-dev"

// Version is that of this program: the tag or revision that it was built from, as Go notes it,
// or next if it notes none.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return next
}
