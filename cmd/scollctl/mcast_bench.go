package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/modules/rmcast"
)

func mcastBenchCommand(g *globals) *cobra.Command {
	r := rmcast.BenchRequest{}
	c := &cobra.Command{
		Use:   "bench GROUP",
		Short: "Measure how long it takes until all members have a message",
		Long: `Sends messages of zeros to a group, and measures how long each takes from the call
until every live member has it, and how many go in a second. With --in-flight 1, the
default, each waits for the one before; with more that many are under way, as far as
the window takes them. 'scollctl mcast recv' shows these messages like all others.`,
		Example: `  scollctl mcast bench news
  scollctl mcast bench news --count 100000 --size 2048 --in-flight 64 --json`,
		Args: cli.Args("a group"),
	}
	c.Flags().IntVar(&r.Count, "count", 1000, "`NUMBER` of messages")
	c.Flags().IntVar(&r.Size, "size", 2048, "`BYTES` of each")
	c.Flags().IntVar(&r.InFlight, "in-flight", 1, "`NUMBER` of messages at a time")
	timeout := addReady(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		if r.Count < 1 || r.Size < 0 || r.InFlight < 1 {
			return cli.Usagef("--count and --in-flight: want a number from 1, and --size from 0")
		}
		var err error
		if r.TimeoutMS, err = timeout(); err != nil {
			return err
		}
		r.Group = args[0]
		var last *rmcast.BenchResult
		watched := cli.IsTerminal(c.ErrOrStderr())
		err = rmcast.OpBench.Call(c.Context(), g.client(), r, func(s rmcast.Step) error {
			last = s.Counts
			if watched && last != nil && !last.Final {
				fmt.Fprintf(c.ErrOrStderr(), "\r%d of %d messages", last.Messages, last.Of)
			}
			return nil
		})
		if watched {
			fmt.Fprint(c.ErrOrStderr(), "\r\x1b[K")
		}
		if err != nil {
			return err
		}
		if last == nil || !last.Final {
			return fmt.Errorf("answer of the daemon: nothing was measured")
		}
		return cli.Show(c.OutOrStdout(), g.json, last, printMcastBench)
	}
	return c
}

func printMcastBench(w io.Writer, b *rmcast.BenchResult) error {
	how := "down the tree"
	if b.Multicast {
		how = "by multicast"
	}
	took := time.Duration(b.ElapsedNS)
	fmt.Fprintf(w, "%d messages of %d bytes to %d members, %s, %d at a time, in %v\n", b.Messages, b.Size, b.Members, how, b.InFlight, rounded(took))
	var t cli.Table
	t.Row("", "min", "p50", "p90", "p99", "max")
	l := b.Released
	t.Row("all have it", ns(l.Min), ns(l.P50), ns(l.P90), ns(l.P99), ns(l.Max))
	err := t.Print(w)
	seconds := max(took.Seconds(), 1e-9)
	fmt.Fprintf(w, "%.0f messages/s, %.1f MB/s; %d datagrams, %d repairs and %d acknowledgements of this node\n",
		float64(b.Messages)/seconds, float64(b.Messages)*float64(b.Size)/seconds/1e6, b.Datagrams, b.Repairs, b.Acks)
	return err
}

func ns(v int64) string { return fmt.Sprint(rounded(time.Duration(v))) }
