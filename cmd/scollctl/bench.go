package main

import (
	"fmt"
	"io"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/modules/scoll"
)

func benchCommand(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "bench",
		Short: "Measure how long a message takes to all members, and recommend a tree",
		Long: `Measures how long a message takes from the sending of this node to the receiving of
the last member, and how long until the aggregated answer is back (collectives design, Choose
Spanning Tree). Clocks are compared by four timestamps per hop, in the same
messages; what that may be wrong by is printed.

The recommended tree follows from half of the shortest round trip and from the time
between two sends of this node: 'scollctl tree compare' shows the arithmetic.

With --trace members also say when they did what, and the output shows where the time
to the answer went, for the broadcasts at the 50th, 90th and 99th percentile and the
longest. Each line follows the child that answered last, from the root to a leaf and
back, and names the step that took longest:

  sends     a member took the request and sent it to its children
  wake-ups  a message was on the way, and its receiver was woken for it
  work      a member merged the last answer with the others, and sent its own
  GC        garbage collections stopped a member

All other time of these members is waiting for the child that follows. Readings of
clocks of other hosts are as exact as the error that is printed; it moves time from
one step to the next, and the sum is exact. Members of earlier versions refuse --trace.`,
		Example: `  scollctl bench --count 1000
  scollctl bench --tree 'k-nomial 4' --size 2048 --json
  scollctl bench --count 1000 --trace`,
		Args: cli.Args(),
	}
	a := addAudience(c, 5*time.Second)
	r := scoll.BenchRequest{}
	c.Flags().IntVar(&r.Count, "count", 100, "`NUMBER` of broadcasts")
	c.Flags().IntVar(&r.Size, "size", 0, "`BYTES` of text in each, up to what fits a message")
	c.Flags().BoolVar(&r.Trace, "trace", false, "show where the time to the answer went, and the step that was latest")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := a.check(); err != nil {
			return err
		}
		if r.Count < 1 || r.Size < 0 {
			return cli.Usagef("--count: want a number from 1, and --size from 0")
		}
		r.Group, r.Tree, r.Live, r.TimeoutMS = a.group, a.tree, a.live, a.timeout.Milliseconds()
		reply, err := scoll.OpBench.Call(c.Context(), g.client(), r)
		if err != nil {
			return err
		}
		return cli.Show(c.OutOrStdout(), g.json, newBenchDoc(&reply), printBench)
	}
	return c
}

// benchDoc is the JSON output of bench. Times are in µs.
type benchDoc struct {
	Group       string      `json:"group"`
	Tree        string      `json:"tree"`
	Members     int         `json:"members"`
	Count       int         `json:"count"`
	Last        percentiles `json:"last_us"`     // time until the last member receives the message
	Bound       float64     `json:"error_us"`    // largest possible error of last_us
	Answered    percentiles `json:"answered_us"` // time until the answer has reached the root
	Latency     float64     `json:"latency_us"`
	Overhead    float64     `json:"overhead_us"`
	Recommended string      `json:"recommended"`
	Histogram   []bucket    `json:"histogram"` // histogram of last_us
	Traces      []traceDoc  `json:"traces,omitempty"`
}

// percentiles are the percentiles of a measure.
type percentiles struct {
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// bucket counts the values between one time and twice that time.
type bucket struct {
	From  float64 `json:"from_us"`
	Count int     `json:"count"`
}

func micro(ns int64) float64 { return float64(ns) / 1000 }

func newBenchDoc(r *scoll.BenchReply) benchDoc {
	d := benchDoc{
		Group: r.Group, Tree: r.Tree, Members: r.Members, Count: len(r.Last),
		Last: percentilesOf(r.Last), Bound: micro(r.Bound), Answered: percentilesOf(r.Answered),
		Latency: micro(r.Hop), Overhead: micro(r.Send), Recommended: r.Recommended, Histogram: histogramOf(r.Last),
	}
	for i := range r.Traces {
		d.Traces = append(d.Traces, newTraceDoc(&r.Traces[i]))
	}
	return d
}

// percentilesOf returns percentiles by nearest rank.
func percentilesOf(ns []int64) percentiles {
	if len(ns) == 0 {
		return percentiles{}
	}
	sorted := slices.Sorted(slices.Values(ns))
	at := func(percent int) float64 { return micro(sorted[(len(sorted)*percent+99)/100-1]) }
	return percentiles{at(50), at(90), at(99), at(100)}
}

// histogramOf counts values in buckets whose bounds are powers of two of 1 µs. It leaves out
// empty buckets at both ends.
func histogramOf(ns []int64) (list []bucket) {
	counts := map[int]int{}
	least, most := 64, 0
	for _, v := range ns {
		i := bits.Len64(uint64(max(v, 0) / 1000)) // index 0 is for times below a µs
		counts[i]++
		least, most = min(least, i), max(most, i)
	}
	for i := least; i <= most; i++ {
		from := 0.0
		if i > 0 {
			from = float64(uint64(1) << (i - 1))
		}
		list = append(list, bucket{from, counts[i]})
	}
	return list
}

// width is the length of the longest bar of a histogram.
const width = 50

func printBench(w io.Writer, d benchDoc) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%d broadcasts to %d members of %s, %s\n", d.Count, d.Members, d.Group, d.Tree)
	var t cli.Table
	t.Row("", "p50", "p90", "p99", "max")
	for _, row := range []struct {
		name string
		p    percentiles
	}{{"last member receives", d.Last}, {"answer is back", d.Answered}} {
		t.Row(row.name, us(row.p.P50), us(row.p.P90), us(row.p.P99), us(row.p.Max))
	}
	_ = t.Print(&b) // cannot fail: writing to a strings.Builder never does
	fmt.Fprintf(&b, "\nclocks were compared to within %s: so much may the first line be wrong by\n\n", us(d.Bound))
	most := 1
	for _, h := range d.Histogram {
		most = max(most, h.Count)
	}
	for _, h := range d.Histogram {
		fmt.Fprintf(&b, "  from %8s  %6d  %s\n", us(h.From), h.Count, strings.Repeat("#", (h.Count*width+most-1)/most))
	}
	printTraces(&b, d.Traces)
	if d.Recommended != "" {
		fmt.Fprintf(&b, "\nrecommended: %s, for %s on the way and %s between two sends\n", d.Recommended, us(d.Latency), us(d.Overhead))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// us returns a number of µs as text.
func us(v float64) string { return fmt.Sprint(rounded(time.Duration(v * 1000))) }
