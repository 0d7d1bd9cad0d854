package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/gossip/engine"
	gossipwire "ulnet/gossip/wire"
)

func tuneCommand(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "tune --nodes NUMBER [--rtt TIME] [--loss PERCENT] [--detect TIME]",
		Short: "Recommend numbers for a cluster",
		Long: `Recommends an interval and the rest for a cluster, and says what to expect of
them: when a death is known, what gossip costs, how long a node is silent after
its start. --detect is by when all must know of a death; without it the interval
is the shortest that is safe. It needs no daemon: the figures come from a model
that was fitted to simulations ('lnetsim' simulates a given case).`,
		Example: `  gossipctl tune --nodes 200 --rtt 1ms --loss 1%
  gossipctl tune --nodes 1000 --detect 30s --json`,
		Args: cli.Args(),
	}
	var t tuning
	c.Flags().IntVar(&t.nodes, "nodes", 0, "`NUMBER` of participants")
	c.Flags().DurationVar(&t.rtt, "rtt", 0, "round trip `TIME` of the network")
	c.Flags().Var(&t.loss, "loss", "`PERCENTAGE` of messages that are lost")
	c.Flags().DurationVar(&t.detect, "detect", 0, "`TIME` within which all must know of a death")
	c.RunE = func(c *cobra.Command, _ []string) error {
		doc, err := t.recommend()
		if err != nil {
			return err
		}
		return cli.Print(c.OutOrStdout(), g.json, doc)
	}
	return c
}

// tuning is what the user knows about a cluster.
type tuning struct {
	nodes  int
	rtt    time.Duration
	loss   percentage
	detect time.Duration
}

// tuneDoc has the recommended parameters, and the behavior to expect with them.
type tuneDoc struct {
	IntervalMS int64 `json:"interval_ms"`
	Fudge      int   `json:"fudge"`
	DeadFactor int   `json:"dead_factor"`
	DeadSlack  int   `json:"dead_slack"`
	// The field below is a number of gossip cycles.
	Threshold int `json:"threshold"` // age in cycles above which a participant is dead
	// The fields below are times in seconds.
	DetectionExpected float64 `json:"detection_expected_s"` // mean time until a node notices a death
	DetectionLatest   float64 `json:"detection_latest_s"`   // longest time until all nodes have noticed a death
	Spread            float64 `json:"spread_s"`             // time until all nodes know of a newcomer that has begun to speak
	Stealth           float64 `json:"stealth_s"`            // time for which a node is silent after its start
	// Payload only; each message also has 96 bytes of LNet's headers and those of TCP.
	BytesPerCycle  int `json:"bytes_per_node_and_cycle"`
	BytesPerSecond int `json:"bytes_per_node_and_second"`
}

// recommend returns the parameters for a cluster of the given size, and the behavior to expect with them.
func (t *tuning) recommend() (tuneDoc, error) {
	switch {
	case t.nodes < 2 || t.nodes > gossipwire.MaxParticipants:
		return tuneDoc{}, cli.Usagef("--nodes: want a number from 2 to %d, not %d", gossipwire.MaxParticipants, t.nodes)
	case t.rtt < 0 || t.rtt > time.Hour:
		return tuneDoc{}, cli.Usagef("--rtt: want a time from 0 to 1h, not %v", t.rtt)
	case !(t.loss >= 0 && t.loss <= 60):
		return tuneDoc{}, cli.Usagef("--loss: want a percentage from 0 to 60, not %v", float64(t.loss))
	case t.detect < 0:
		return tuneDoc{}, cli.Usagef("--detect: want a time from 0, not %v", t.detect)
	}
	m := newModel(t.nodes, float64(t.loss)/100)
	least := max(engine.MinInterval, t.rtt).Round(time.Millisecond)
	interval := least
	if t.detect > 0 {
		interval = (t.detect / time.Duration(m.latest())).Truncate(time.Millisecond)
		if interval < least {
			return tuneDoc{}, cli.Hint(
				fmt.Errorf("%v are too short: %d nodes need %d cycles until all know of a death, and a cycle takes %v at least", t.detect, t.nodes, m.latest(), least),
				"ask for --detect %v or more", least*time.Duration(m.latest()))
		}
	}
	in := func(cycles float64) float64 { return round(cycles*interval.Seconds(), 10) }
	return tuneDoc{
		IntervalMS: interval.Milliseconds(), Fudge: m.limits.Fudge, DeadFactor: m.cfg.DeadFactor, DeadSlack: m.cfg.DeadSlack,
		Threshold: m.limits.Dead, DetectionExpected: in(m.expected()), DetectionLatest: in(float64(m.latest())),
		Spread: in(m.spread()), Stealth: in(float64(m.limits.Stealth + 1)),
		BytesPerCycle: int(m.bytes()), BytesPerSecond: int(m.bytes() / interval.Seconds()),
	}, nil
}
