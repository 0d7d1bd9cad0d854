package main

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
	"ulnet/lnd/fault"
	"ulnet/lnet/faultrule"
)

func faultCommand(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "fault",
		Short: "Failures on purpose, to test what runs above LNet",
		Long: `Spoils messages of the running node on purpose, to test what runs above LNet:
rules lose, delay, double and reorder them, partitions keep nodes apart, a pause
keeps everything, 'fail' makes operations fail as 'lctl fail' does, and 'drop'
and 'delay' have the rules of the kernel's LNet. What was
begun lasts until it is ended or the daemon ends; the key 'faults' of its
configuration begins it at the start.`,
	}
	c.AddCommand(
		faultAdd(g), faultDel(g), faultList(g), faultPartition(g), faultHeal(g), faultPause(g), faultResume(g), faultFail(g),
		faultKind(g, faultrule.Drop), faultKind(g, faultrule.Delay),
	)
	return c
}

func faultList(g *globals) *cobra.Command {
	c := cli.Question[map[string]faultDoc]{
		Use: "list", Short: "Show what goes wrong on purpose, and how often it did",
		Long: `Shows the NIDs of 'fault fail', the oldest first, where count is how many
messages are still to fail, -1 without end; the rules in their order with what
they did, in messages; the kernel's drop and delay rules; the partition and how
many messages it stopped; and what delays and pauses keep at the moment.
Overflowed messages were lost because too much was kept, refused ones broke the
protocol when their time came.`,
		Example: "  lnetctl fault list --json",
		Args:    cli.Args(),
		Ask: func(ctx context.Context, _ []string) (map[string]faultDoc, error) {
			s, err := node.OpStatus.Call(ctx, g.client(), control.None{})
			return map[string]faultDoc{"fault": newFaultDoc(s.Faults)}, err
		},
	}.Command(&g.json)
	c.Aliases = []string{"show"}
	return c
}

// faultDoc is the document of 'fault list'. It has a list for each kind of fault, and counters.
type faultDoc struct {
	Fail       []failDoc    `json:"fail"`
	Rules      []ruleDoc    `json:"rules"`
	Drop       []netRuleDoc `json:"drop"`
	Delay      []netRuleDoc `json:"delay"`
	Partition  string       `json:"partition"` // text of the partition; empty: there is none
	Cut        uint64       `json:"cut"`
	Paused     bool         `json:"paused"`
	PauseLeft  string       `json:"pause_left,omitempty"`
	Held       int          `json:"held"`
	HeldBytes  int          `json:"held_bytes"`
	Overflowed uint64       `json:"overflowed"`
	Refused    uint64       `json:"refused"`
	Seed       uint64       `json:"seed"`
}

type failDoc struct {
	NID   string `json:"nid"` // NID to which and from which messages fail, or _all_
	Count int    `json:"count"`
}

type ruleDoc struct {
	ID     int    `json:"id"`
	Match  string `json:"match"` // pattern of the messages, or all
	Effect string `json:"effect"`
	fault.Counts
}

func newFaultDoc(f node.Faults) faultDoc {
	p := f.Plan
	doc := faultDoc{
		Fail: []failDoc{}, Rules: []ruleDoc{}, Drop: netRuleDocs(p.Drop), Delay: netRuleDocs(p.Delay), Partition: p.Partition, Cut: p.Cut, Paused: p.Paused,
		Held: p.Held, HeldBytes: p.HeldBytes, Overflowed: p.Overflowed, Refused: p.Refused, Seed: p.Seed,
	}
	if p.PauseLeft > 0 {
		doc.PauseLeft = p.PauseLeft.String()
	}
	for _, e := range f.Fail {
		name := e.NID.String()
		if e.NID.IsAny() {
			name = allNIDs
		}
		doc.Fail = append(doc.Fail, failDoc{name, e.Count})
	}
	for _, r := range p.Rules {
		doc.Rules = append(doc.Rules, ruleDoc{r.ID, cmp.Or(r.Match, "all"), r.Effect, r.Counts})
	}
	return doc
}

// warnOfFaults prints a warning if faults are injected, which may explain what a command shows.
func warnOfFaults(w io.Writer, s node.Status) {
	if s.Faults.Active() {
		fmt.Fprintln(w, "messages are spoiled on purpose here: see 'lnetctl fault list'")
	}
}
