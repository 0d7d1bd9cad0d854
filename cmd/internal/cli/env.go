// Package cli is what all commands have in common: how they start, end, fail
// and print.
//
// A command's main is
//
//	func main() { os.Exit(run(context.Background(), cli.OS(), os.Args[1:])) }
//
//	func run(ctx context.Context, env cli.Env, args []string) int {
//		return cli.Run(ctx, env, root(env), args)
//	}
//
// where root builds a tree of cobra commands. The answer goes to standard output, everything
// else to standard error. Exit codes are [OK], [Failed], [Usage] and [Config]. Verbs return errors and
// never print them; [Hint] adds what to do next.
package cli

import (
	"io"
	"os"
)

// Exit codes of every command.
const (
	OK     = 0
	Failed = 1 // the command was understood and did not succeed
	Usage  = 2 // the command line is not valid
	// Config: the configuration of a daemon is not valid, so that another start fails, too (EX_CONFIG of
	// sysexits.h).
	Config = 78
)

// Env is the environment of a command: its streams and variables.
type Env struct {
	Stdin  io.Reader           // standard input; may be a terminal
	Stdout io.Writer           // standard output: the answer
	Stderr io.Writer           // standard error: errors, hints and progress
	Getenv func(string) string // returns a variable of the environment, as os.Getenv does
}

// OS returns the environment of this process.
func OS() Env {
	return Env{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv}
}
