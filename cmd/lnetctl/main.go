// Lnetctl shows and uses LNet nodes, in the grammar of Lustre's lnetctl. It uses the node of a
// running lnetd or, with --standalone, a node of its own that exists during the command.
package main

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/config/tree"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/shell"
)

func main() { os.Exit(run(context.Background(), cli.OS(), os.Args[1:])) }

func run(ctx context.Context, env cli.Env, args []string) int {
	return shell.Tool{Name: "lnetctl", Root: root, Part: part, Usage: usage, Exec: execute}.Run(ctx, env, args)
}

// execute runs a command and shows its error as the kernel's tool does.
func execute(ctx context.Context, env cli.Env, root *cobra.Command, args []string) int {
	return cli.RunAs(ctx, env, root, args, dialect)
}

// usage is the text that the kernel's tool prints for commands that it does not have.
const usage = `usage: lnetctl [COMMAND] [OPTIONS]... [ARGS]
Without any parameters, interactive mode is invoked
Try 'lnetctl help <COMMAND>', or 'lnetctl --list-commands' for a list of commands.
`

// exitStatus describes the exit codes for manual pages. Commands that Lustre's tool has, too, end with the
// codes of that tool.
const exitStatus = `0 The command did what it was asked for; with diff, the node has all that the file says.
1 The command did not succeed; with diff, there are differences. Standard error says why, and what to do next.
2 The command line is not valid.
234 A value or an option is not valid, or the node refused the command, where Lustre's lnetctl ends so (-22, EINVAL, as a byte).
255 The command did not succeed, or does not exist, where Lustre's lnetctl ends so (-1).
128-254 The command did not succeed, where Lustre's lnetctl ends with a negative errno as a byte: 256 less the errno.`

// globals are the flags that every verb has.
type globals struct {
	socket string
	json   bool
	stderr io.Writer
}

// topCommands are the commands at the top level of the tree, by their names.
var topCommands = []struct {
	name string
	make func(*globals) *cobra.Command
}{
	{"net", netCommand},
	{"ping", pingCommand},
	{"discover", discoverCommand},
	{"path", pathCommand},
	{"set", setCommand},
	{"route", routeCommand},
	{"global", globalCommand},
	{"debug", debugCommand},
	{"log", logCommand},
	{"profile", profileCommand},
	{"routing", routingCommand},
	{"stats", statsCommand},
	{"peer", peerCommand},
	{"msg", msgCommand},
	{"fault", faultCommand},
	{"keys", keysCommand},
	{"client", clientCommand},
	{"server", serverCommand},
	{"health", healthCommand},
	{"udsp", udspCommand},
	{"export", exportCommand},
	{"import", importCommand},
	{"diff", diffCommand},
	{"config", configCommand},
	{"reload", reloadCommand},
	{"lnet", lnetCommand},
	{"cpt-of-nid", cptCommand},
	{"service-id", serviceCommand},
	{"doctor", doctorCommand},
	{"bugreport", bugreportCommand},
}

// root returns the whole tree of commands.
func root(env cli.Env) *cobra.Command {
	c, g := bare(env)
	for _, command := range topCommands {
		c.AddCommand(command.make(g))
	}
	c.AddCommand(setupCommands()...)
	c.AddCommand(shell.Commands(c)...)
	addWatch(c, g)
	cli.CompleteLive(c, g.offers())
	return c
}

// part returns the part of the tree below one command, without completions, because making the whole tree
// takes a tenth of the time of a command that asks the daemon. It has no commands if no command has the name.
func part(env cli.Env, name string) *cobra.Command {
	c, g := bare(env)
	for _, command := range topCommands {
		if command.name == name {
			c.AddCommand(command.make(g))
		}
	}
	addWatch(c, g)
	return c
}

// bare returns a tree without commands, with the flags that all commands have.
func bare(env cli.Env) (*cobra.Command, *globals) {
	c := &cobra.Command{
		Use:   "lnetctl",
		Short: "Show and use LNet nodes",
		Long: `lnetctl shows and uses the LNet node of a running lnetd, in the grammar of
Lustre's lnetctl; client, server and health, which are ours, are for client health.
With --standalone, ping, discover and msg need no daemon: they run a
node of their own.`,
		Example: `  lnetctl net show
  lnetctl ping 10.0.0.2@tcp
  lnetctl client list
  lnetctl ping --standalone --networks 'tcp(eth0)' 10.0.0.2@tcp`,
		Annotations: map[string]string{cli.ExitStatus: exitStatus},
	}
	g := &globals{stderr: env.Stderr}
	dirs := config.Dirs{Getenv: env.Getenv, UID: os.Getuid()}
	c.PersistentFlags().StringVar(&g.socket, "socket", dirs.ClientSocket(), "control socket `PATH` of lnetd")
	c.PersistentFlags().BoolVar(&g.json, "json", false, "print JSON")
	return c, g
}

// print prints what a verb shows: as JSON, or in the layout of the kernel's tool.
func (g *globals) print(c *cobra.Command, doc any) error {
	if g.json {
		return cli.JSON(c.OutOrStdout(), doc)
	}
	return tree.Write(c.OutOrStdout(), doc)
}

func (g *globals) client() *control.Client { return control.NewClient(g.socket).WarnTo(g.stderr) }
