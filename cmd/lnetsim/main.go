// Lnetsim runs scenarios in virtual time, repeats and shrinks them, and prints and plots the
// results. Package scenario defines the language of scenarios.
package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/gossip/gossipsim"
	"ulnet/gossip/zone/zonesim"
	"ulnet/health/healthsim"
	"ulnet/lnd/sim/flood"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnet/lnetsim"
	"ulnet/scoll/rmcast/rmcastsim"
	"ulnet/scoll/scollsim"
)

// protocols are the protocols that a scenario can name.
var protocols = []*scenario.Protocol{flood.Protocol, gossipsim.Protocol, healthsim.Protocol, lnetsim.Protocol, rmcastsim.Protocol, scollsim.Protocol, zonesim.Protocol}

func main() { os.Exit(execute(context.Background(), cli.OS(), os.Args[1:])) }

func execute(ctx context.Context, env cli.Env, args []string) int {
	return cli.Run(ctx, env, command(env), args)
}

func command(env cli.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "lnetsim",
		Short: "Simulate networks of many nodes that a file describes",
		Long: `A scenario is a text file: which protocol, how many nodes, what their network
is like, what happens when, and what is expected. It runs in virtual time in
this process, without a daemon, and is the same again for the same seed.

'lnetsim examples' lists scenarios to begin with.`,
		Example: `  lnetsim run --example partition
  lnetsim examples partition > my.sim
  lnetsim run my.sim --runs 20 --plot plots`,
	}
	c.AddCommand(
		runCommand(env), sweepCommand(env), replayCommand(env), shrinkCommand(env), expandCommand(env),
		checkCommand(), fmtCommand(), protocolsCommand(), examplesCommand(),
	)
	return c
}
