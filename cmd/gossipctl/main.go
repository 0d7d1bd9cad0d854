// Gossipctl controls and shows the gossip of a running lnetd: which servers of
// a cluster are alive, as its node sees it (GO-40 to GO-49).
package main

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/control"
)

func main() { os.Exit(run(context.Background(), cli.OS(), os.Args[1:])) }

func run(ctx context.Context, env cli.Env, args []string) int {
	return cli.Run(ctx, env, root(env), args)
}

// globals are the flags that every verb has.
type globals struct {
	socket string
	json   bool
	stderr io.Writer
}

func root(env cli.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "gossipctl",
		Short: "Show and control which servers of a cluster are alive",
		Long: `gossipctl shows and controls the gossip of a running lnetd: how its node and the
other servers of a cluster find out which of them are alive. The section gossip
of lnetd's configuration says the same as 'gossipctl init' and 'start', for
every start of the daemon.`,
		Example: `  gossipctl init --interval 200ms '10.0.0.[1-20]@tcp' && gossipctl start
  gossipctl status
  gossipctl watch
  gossipctl explain 10.0.0.7@tcp`,
	}
	g := &globals{stderr: env.Stderr}
	dirs := config.Dirs{Getenv: env.Getenv, UID: os.Getuid()}
	c.PersistentFlags().StringVar(&g.socket, "socket", dirs.ClientSocket(), "control socket `PATH` of lnetd")
	c.PersistentFlags().BoolVar(&g.json, "json", false, "print JSON")
	c.AddCommand(initCommand(g), startCommand(g), stopCommand(g), statusCommand(g), watchCommand(g), paramsCommand(g),
		quorumCommand(g), listCommand(g), historyCommand(g), explainCommand(g), tuneCommand(g), zoneCommand(g), handlersCommand(g))
	return c
}

func (g *globals) client() *control.Client { return control.NewClient(g.socket).WarnTo(g.stderr) }
