package main

import (
	"cmp"
	"context"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/modules/scoll"
	"ulnet/lnet/nid"
)

func nanos(ns int64) time.Duration { return time.Duration(ns) }

// skewDoc is the JSON output of skew.
type skewDoc struct {
	Root      nid.NID           `json:"root"`
	Clocks    []clock           `json:"clocks"`
	Unreached []scoll.Unreached `json:"unreached"`
}

// clock is the offset of a member's clock.
type clock struct {
	NID    nid.NID `json:"nid"`
	Offset int64   `json:"offset_ns"` // the member's clock minus this node's clock, in ns
	Bound  int64   `json:"bound_ns"`  // largest error of Offset, in ns
}

func skewCommand(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "skew",
		Short: "Show how the clocks of all members differ from this node's",
		Long: `Shows how far the clocks of the members of a group are ahead of this node's (+),
or behind (-), and the bound of the error. Each node of the tree compares its clock
with those of its children by four timestamps: half of what the messages spent on
the way bounds the error, and both add up from level to level. Of several rounds
the one with the least error counts.

` + unreachedHelp,
		Example: "  scollctl skew --count 20",
		Args:    cli.Args(),
	}
	a := addAudience(c, 5*time.Second)
	rounds := c.Flags().Int("count", 5, "`NUMBER` of rounds")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := a.check(); err != nil {
			return err
		}
		if *rounds < 1 || *rounds > 1000 {
			return cli.Usagef("--count: want a number from 1 to 1000, not %d", *rounds)
		}
		doc, last, err := g.skew(c.Context(), a, *rounds)
		if err != nil {
			return err
		}
		err = cli.Show(c.OutOrStdout(), g.json, doc, func(w io.Writer, doc skewDoc) error {
			return printReply(w, last, func(w io.Writer, _ *scoll.BroadcastReply) error { return doc.print(w) })
		})
		return cmp.Or(err, errorOf(last))
	}
	return c
}

// skew asks all members several times, or until a member does not answer.
func (g *globals) skew(ctx context.Context, a *audience, rounds int) (doc skewDoc, last *scoll.BroadcastReply, err error) {
	best := map[nid.NID]clock{}
	for range rounds {
		r, err := scoll.OpBroadcast.CallWith(ctx, g.client(), a.request("clock"), nil)
		if err != nil {
			return doc, nil, err
		}
		last = &r
		for _, m := range r.Answers {
			if m.OffsetNS == nil || m.BoundNS == nil {
				continue
			}
			if b, ok := best[m.NID]; !ok || *m.BoundNS < b.Bound {
				best[m.NID] = clock{m.NID, *m.OffsetNS, *m.BoundNS}
			}
		}
		if r.Status != scoll.BroadcastOK {
			break
		}
	}
	doc = skewDoc{Root: last.Root, Clocks: []clock{}, Unreached: last.Unreached}
	for _, c := range best { // any order: the list is sorted below
		doc.Clocks = append(doc.Clocks, c)
	}
	slices.SortFunc(doc.Clocks, func(a, b clock) int { return a.NID.Compare(b.NID) })
	return doc, last, nil
}

func (d *skewDoc) print(w io.Writer) error {
	var t cli.Table
	t.Row("NID", "OFFSET", "ERROR UP TO")
	for _, c := range d.Clocks {
		if c.NID == d.Root {
			t.Row(c.NID, "0s", "(this node)")
			continue
		}
		t.Row(c.NID, offset(c.Offset), rounded(nanos(c.Bound)))
	}
	return t.Print(w)
}
