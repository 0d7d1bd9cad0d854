// Lst is the console of Lustre's lnet_selftest, in the grammar of Lustre's lst: it measures a
// network and finds what is wrong with it. Test nodes are kernel nodes with the module
// lnet_selftest, and daemons of this repository. The console's state is in a running lnetd, so
// that each command is a process of its own.
package main

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/shell"
)

func main() { os.Exit(run(context.Background(), cli.OS(), os.Args[1:])) }

func run(ctx context.Context, env cli.Env, args []string) int {
	return shell.Tool{Name: "lst", Root: root, Usage: usage, Exec: execute}.Run(ctx, env, args)
}

// execute runs a command and shows its error as Lustre's tool does.
func execute(ctx context.Context, env cli.Env, root *cobra.Command, args []string) int {
	return cli.RunAs(ctx, env, root, args, dialect)
}

// usage is the text that Lustre's tool prints as its help, and for commands that it does not have.
const usage = `usage: lst [COMMAND] [OPTIONS]... [ARGS]
Without any parameters, interactive mode is invoked
Try 'lst help <COMMAND>', or 'lst --list-commands' for a list of commands.
`

// globals are the flags that every command has, and what the environment says.
type globals struct {
	socket string
	json   bool
	getenv func(string) string
	stderr io.Writer
}

func (g *globals) client() *control.Client { return control.NewClient(g.socket).WarnTo(g.stderr) }

// key returns the key of the session for which commands are meant.
func (g *globals) key() uint32 { return keyOf(g.getenv("LST_SESSION"), os.Getuid()) }

// exitStatus describes the exit codes for manual pages.
const exitStatus = `0 The command did what it was asked for.
4 The command line is not valid, or the command does not exist.
234 With list_group, there is no group (-22, EINVAL, as a byte).
253 A node refused what it was asked to do.
254 A node did not answer.
255 The command did not succeed at the console. Standard error says why.`

func root(env cli.Env) *cobra.Command {
	c := &cobra.Command{
		Use:         "lst",
		Annotations: map[string]string{cli.ExitStatus: exitStatus},
		Short:       "The console of selftest, which measures a network",
		Long: `lst is the console of selftest, Lustre's test of its network, in the grammar of
Lustre's lst. It makes a session with test nodes, which send each other RPCs, and
shows their rates and errors. Test nodes are kernel nodes with the module
lnet_selftest, and nodes of lnetd with "selftest: 1" in their configuration. The
daemon that lst talks to needs that line, too; it keeps the session.

The variable LST_SESSION has the key of the session, a number other than 0, which
has to be the same for all commands: usually the number of the shell, $$. A text
that is no number stands for a number made of it; without the variable the key is
one of the user, the same in each shell.
LST_FEATURES has the features of a new session, in hexadecimal.

The program is installed as ulnet-lst. Without a command it reads commands, at a
prompt or from a file.`,
		Example: `  export LST_SESSION=$$
  lst new_session check
  lst add_group clients 10.0.0.1@tcp
  lst add_group servers 10.0.0.[2-3]@tcp
  lst add_batch b
  lst add_test --batch b --from clients --to servers brw write size=1M
  lst run b
  lst stat --count 3 servers
  lst stop b
  lst end_session`,
	}
	g := &globals{stderr: env.Stderr, getenv: env.Getenv}
	dirs := config.Dirs{Getenv: env.Getenv, UID: os.Getuid()}
	c.PersistentFlags().StringVar(&g.socket, "socket", dirs.ClientSocket(), "control socket `PATH` of lnetd")
	c.PersistentFlags().BoolVar(&g.json, "json", false, "print JSON")
	c.AddCommand(newSession(g), endSession(g), showSession(g), pingCommand(g))
	c.AddCommand(addGroup(g), delGroup(g), updateGroup(g), listGroup(g))
	c.AddCommand(statCommand(g), showError(g), quickCommand(g), joinCommand(g))
	c.AddCommand(addBatch(g), addTest(g), runCommand(g), stopCommand(g), listBatch(g), queryCommand(g))
	c.AddCommand(shell.Commands(c)...)
	cli.CompleteLive(c, g.offers())
	shortHelp(c)
	return c
}

// shortHelp makes the help of lst as a whole the same short text as that of Lustre's tool. 'help
// COMMAND' and the manual page say more.
func shortHelp(c *cobra.Command) {
	long := c.HelpFunc()
	c.SetHelpFunc(func(of *cobra.Command, args []string) {
		if of.HasParent() {
			long(of, args)
			return
		}
		_, _ = io.WriteString(of.OutOrStdout(), usage)
	})
}
