package main

import (
	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/modules/gossip"
)

func initCommand(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "init [--interval TIME] [FLAG...] {NIDS... | --nids-file FILE}",
		Short: "Set the participants and the parameters",
		Long: `Sets who takes part, this node included, and how. All participants must have the
same list and the same interval. The parameters stay over stop and start, until
the daemon ends or another init; the same again change nothing. While gossip
runs it refuses others: stop first.

` + nidsHelp + `

'gossipctl tune' finds numbers for a cluster.`,
		Example: `  gossipctl init --interval 200ms '10.0.0.[1-20]@tcp'
  gossipctl init --nids-file servers --cold-start`,
	}
	p := config.Default().Gossip
	nids := addNIDsFlag(c)
	flags := c.Flags()
	flags.DurationVar(&p.Interval, "interval", p.Interval, "`TIME` between messages of a node, at least 200ms and half of --rtt")
	flags.DurationVar(&p.RTT, "rtt", p.RTT, "estimated round trip `TIME` of the network")
	flags.IntVar(&p.Fudge, "fudge", p.Fudge, "by how many `CYCLES` more than needed answers are fresher; -1: by the number of participants")
	flags.IntVar(&p.DeadFactor, "dead-factor", p.DeadFactor, "dead is who is older than this `NUMBER` times log2 N cycles,")
	flags.IntVar(&p.DeadSlack, "dead-slack", p.DeadSlack, "and so many `CYCLES`, at least 16 in total")
	flags.IntVar(&p.Obsolete, "obsolete", p.Obsolete, "how far behind the `CLOCK` of a message may be; 0: by the number of participants")
	flags.IntVar(&p.Quorum, "quorum", p.Quorum, "more than this `PERCENTAGE` must be alive for a quorum")
	flags.BoolVar(&p.ColdStart, "cold-start", p.ColdStart, "speak at once: the whole cluster starts together")
	flags.BoolVar(&p.Strict, "strict", p.Strict, "the letter of the design, for comparisons")
	flags.Uint64Var(&p.Seed, "seed", p.Seed, "of the choice of partners; 0: chosen")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := checkNumbers(p); err != nil {
			return err
		}
		list, err := nids.read(c, args)
		if err != nil {
			return err
		}
		return gossip.OpInit.CallWith(c.Context(), g.client(), gossip.NewInitRequest(p), list)
	}
	return c
}

// checkNumbers refuses numbers that lnetd would refuse in its configuration. The daemon makes
// the checks that depend on the number of participants.
func checkNumbers(p config.Gossip) error {
	if p.Fudge < -1 {
		return cli.Usagef("--fudge: want a number from -1, not %d", p.Fudge)
	}
	for _, n := range []struct {
		flag        string
		value, most int
	}{
		{"dead-factor", p.DeadFactor, 254},
		{"dead-slack", p.DeadSlack, 254},
		{"obsolete", p.Obsolete, 1 << 20},
		{"quorum", p.Quorum, 99},
	} {
		if n.value < 0 || n.value > n.most {
			return cli.Usagef("--%s: want a number from 0 to %d, not %d", n.flag, n.most, n.value)
		}
	}
	if p.RTT < 0 {
		return cli.Usagef("--rtt: want a time from 0, not %v", p.RTT)
	}
	if _, err := (config.Gossip{Interval: p.Interval, RTT: p.RTT}).Agent().Engine().Limits(2); err != nil {
		return cli.Usagef("--interval: %w", withoutPrefix(err))
	}
	return nil
}
