// Lctl shows the network of a node and injects faults, in the grammar of the network commands
// of Lustre's lctl. It has the commands that scripts use and administrators know by heart. The
// node is that of a running lnetd.
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
	"ulnet/lnet/faultrule"
)

func main() { os.Exit(run(context.Background(), cli.OS(), os.Args[1:])) }

func run(ctx context.Context, env cli.Env, args []string) int {
	var chosen string // the network that the user has chosen by the command "network" at the prompt
	tool := shell.Tool{
		Name: "lctl", Usage: usage, Exec: exec,
		Root: func(env cli.Env) *cobra.Command { return root(env, &chosen) },
	}
	return tool.Run(ctx, env, args)
}

// usage is the text that Lustre's tool prints for commands that it does not have.
const usage = `usage: lctl [COMMAND] [OPTIONS]... [ARGS]
Without any parameters, interactive mode is invoked
Try 'lctl help <COMMAND>', or 'lctl --list-commands' for a list of commands.
`

// exec runs a command and shows its error as Lustre's tool does.
func exec(ctx context.Context, env cli.Env, root *cobra.Command, args []string) int {
	return cli.RunAs(ctx, env, root, args, dialect)
}

// globals are the flags that every command has.
type globals struct {
	socket string
	net    string // network on which peer_list and conn_list act
	json   bool
	stderr io.Writer
}

func (g *globals) client() *control.Client { return control.NewClient(g.socket).WarnTo(g.stderr) }

// exitStatus describes the exit codes for manual pages. The codes are those of Lustre's tool.
const exitStatus = `0 The command did what it was asked for.
1 The command did not succeed, or its command line is not valid. Standard error says why.`

// root makes the tree of commands. Commands without --net act on the network *chosen.
func root(env cli.Env, chosen *string) *cobra.Command {
	c := &cobra.Command{
		Use:         "lctl",
		Annotations: map[string]string{cli.ExitStatus: exitStatus},
		Short:       "The network commands of Lustre's lctl, for a running lnetd",
		Long: `lctl has the network commands of Lustre's lctl, for the node of a running lnetd.
It is installed as ulnet-lctl. What it shows, and more, lnetctl shows as YAML and
JSON. Without a command it reads commands, at a prompt or from a file.`,
		Example: `  lctl list_nids
  lctl ping 10.0.0.2@tcp
  lctl --net tcp conn_list
  lctl net_drop_add -s '*@tcp' -d 10.0.0.2@tcp -r 10`,
	}
	g := &globals{stderr: env.Stderr}
	dirs := config.Dirs{Getenv: env.Getenv, UID: os.Getuid()}
	c.PersistentFlags().StringVar(&g.socket, "socket", dirs.ClientSocket(), "control socket `PATH` of lnetd")
	c.PersistentFlags().StringVar(&g.net, "net", *chosen, "the `NETWORK` of peer_list and conn_list, such as tcp or o2ib1")
	c.PersistentFlags().BoolVar(&g.json, "json", false, "print JSON")
	c.AddCommand(pingCommand(g), listNIDs(g), whichNID(g), networkCommand(g, chosen), peerList(g), connList(g), routeList(g))
	for _, k := range []faultrule.Kind{faultrule.Drop, faultrule.Delay} {
		c.AddCommand(faultAdd(g, k), faultDel(g, k), faultReset(g, k), faultList(g, k))
	}
	c.AddCommand(shell.Commands(c)...)
	return c
}
