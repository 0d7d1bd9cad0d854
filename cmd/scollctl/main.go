// Scollctl sends requests to all members of a group, and shows trees and groups (collectives
// design, Server Collectives).
package main

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
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
		Use:   "scollctl",
		Short: "Send to all servers of a group at once, and show how",
		Long: `scollctl works with server collectives: one request goes to all members of a
group over a tree, and one answer comes back, with the names of all members
whose answer did not.`,
		Example: `  scollctl ping
  scollctl bcast --bulk site.tar --action install
  scollctl bench
  scollctl mcast send news 'hello, all'
  scollctl tree show --nodes 16 --k 4
  scollctl tree compare --nodes 1000 --latency 40us --overhead 10us`,
	}
	g := &globals{stderr: env.Stderr}
	paths := config.Dirs{Getenv: env.Getenv, UID: os.Getuid()}
	c.PersistentFlags().StringVar(&g.socket, "socket", paths.ClientSocket(), "control socket `PATH` of lnetd")
	c.PersistentFlags().BoolVar(&g.json, "json", false, "print JSON")
	c.AddCommand(pingCommand(g), bcastCommand(g), groupCommand(g), versionCommand(g), configCommand(g), skewCommand(g),
		benchCommand(g), watchCommand(g), statsCommand(g), treeCommand(g), mcastCommand(g))
	return c
}
