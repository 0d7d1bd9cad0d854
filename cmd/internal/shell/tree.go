package shell

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ulnet/cmd/internal/cli"
)

// A Tool is a tree of commands that has an interactive mode.
type Tool struct {
	Name  string                       // name of the program
	Root  func(cli.Env) *cobra.Command // makes a new tree of commands
	Usage string                       // text to print for a command that does not exist
	// Part makes a tree whose top level has only the command with this name, which is all that most calls
	// need. If there is no such command, the tree has no commands. Nil: all calls use Root.
	Part func(env cli.Env, name string) *cobra.Command
	// Exec runs a command of a tree and returns its exit code; nil: cli.Run.
	Exec func(ctx context.Context, env cli.Env, root *cobra.Command, args []string) int
}

// Run runs the command of args. If args have only flags that every command has, and perhaps
// the word ignore_errors, it runs commands from the terminal or file that is standard input.
func (t Tool) Run(ctx context.Context, env cli.Env, args []string) int {
	if len(args) == 1 && (args[0] == "quit" || args[0] == "exit") {
		return cli.OK
	}
	root := t.tree(env, args)
	at := slices.IndexFunc(args, isIgnoreErrors)
	tolerant := at >= 0 && onlyFlags(root, args[:at])
	if tolerant {
		args = slices.Delete(slices.Clone(args), at, at+1)
	}
	if !onlyFlags(root, args) {
		return t.execIn(ctx, env, root, args)
	}
	s := Shell{tolerant: tolerant, Env: env, Prompt: t.Name + " > ", Usage: t.Usage, Has: t.has(env)}
	s.Run = func(words []string) int { return t.exec(ctx, env, append(slices.Clone(args), words...)) }
	s.Complete = func(words []string) []string { return t.complete(ctx, env, args, words) }
	return s.Loop()
}

// exec runs a command in a new tree.
func (t Tool) exec(ctx context.Context, env cli.Env, args []string) int {
	return t.execIn(ctx, env, t.tree(env, args), args)
}

// tree returns a tree that has the command of args: a part if that is possible.
func (t Tool) tree(env cli.Env, args []string) *cobra.Command {
	if t.Part == nil {
		return t.Root(env)
	}
	name := ""
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		name = args[0]
	} else if flags := probes(t.Part(env, "")); flags.Parse(args) == nil {
		name = flags.Arg(0)
	}
	if part := t.Part(env, name); part.HasSubCommands() {
		return part
	}
	return t.Root(env)
}

func (t Tool) execIn(ctx context.Context, env cli.Env, root *cobra.Command, args []string) int {
	if i := len(args) - 1; i >= 0 && args[i] == "--list-commands" {
		args = append(slices.Clone(args[:i]), "list-commands")
	}
	if t.Exec == nil {
		return cli.Run(ctx, env, root, args)
	}
	return t.Exec(ctx, env, root, args)
}

// onlyFlags reports whether args consist of flags that every command has. The tree stays as it is,
// so it can run a command afterwards.
func onlyFlags(root *cobra.Command, args []string) bool {
	if slices.Contains(args, "--help") || slices.Contains(args, "-h") || slices.Contains(args, "--") {
		return false
	}
	flags := probes(root)
	return flags.Parse(args) == nil && flags.NArg() == 0
}

// probes returns flags like those that all commands of a tree have, which keep no values. They are
// parsed up to the first word that belongs to no flag.
func probes(root *cobra.Command) *pflag.FlagSet {
	flags := pflag.NewFlagSet(root.Name(), pflag.ContinueOnError)
	flags.Usage = func() {}
	flags.SetInterspersed(false)
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) {
		probe := *f
		probe.Value = checked(f.Value.Type())
		flags.AddFlag(&probe)
	})
	return flags
}

// checked is the value (pflag.Value) of a flag that probes makes; the string is the name of the flag's type. Set
// checks its argument if the type is bool, and keeps nothing.
type checked string

func (c checked) Type() string   { return string(c) }
func (c checked) String() string { return "" }

func (c checked) Set(value string) (err error) {
	if c == "bool" {
		_, err = strconv.ParseBool(value)
	}
	return err
}

// has returns a function that reports whether a word is a command at the top level of the tree.
func (t Tool) has(env cli.Env) func(word string) bool {
	root := t.Root(env)
	root.InitDefaultHelpCmd()
	return func(word string) bool {
		return strings.HasPrefix(word, "-") ||
			slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == word || c.HasAlias(word) })
	}
}

// complete asks the command tree which words can replace the last one, in the same way as the
// completion functions of shells.
func (t Tool) complete(ctx context.Context, env cli.Env, globals, words []string) (possible []string) {
	var out, errs bytes.Buffer
	silent := env
	silent.Stdout, silent.Stderr = &out, &errs
	args := append([]string{cobra.ShellCompNoDescRequestCmd}, globals...)
	if cli.Run(ctx, silent, t.Root(silent), append(args, words...)) != cli.OK {
		return nil
	}
	for line := range strings.Lines(out.String()) {
		// The last line of the output is a number after a colon, an instruction for shells.
		if line = strings.TrimSuffix(line, "\n"); line != "" && !strings.HasPrefix(line, ":") && strings.HasPrefix(line, words[len(words)-1]) {
			possible = append(possible, line)
		}
	}
	return possible
}
