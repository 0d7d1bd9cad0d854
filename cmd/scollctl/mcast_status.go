package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/modules/rmcast"
	"ulnet/lnet/nid"
)

func mcastStatusCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "status [GROUP]",
		Short: "Show how groups stand, and what is waited for",
		Long: `Shows how this node stands to its groups, where the messages of each origin are, and
which member keeps an origin waiting: the child of this node in the origin's tree that
has not acknowledged, and, as far as that is known, the member that is missing below it
and the edge of the tree to it. Ask the origin's node first.

Numbers count datagrams: all members have those below STABLE, those below DELIVERED
are delivered here, those below HEAD were sent.`,
		Example: "  scollctl mcast status news --json | jq '.groups[].waits'",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := rmcast.OpStatus.Call(c.Context(), g.client(), control.None{})
			if err != nil {
				return err
			}
			if err := onlyGroup(&s, args); err != nil {
				return err
			}
			return cli.Show(c.OutOrStdout(), g.json, s, printMcastStatus)
		},
	}
}

func printMcastStatus(w io.Writer, s rmcast.Status) error {
	var b strings.Builder
	for i := range s.Groups {
		if i > 0 {
			b.WriteByte('\n')
		}
		printMcast(&b, &s.Groups[i], s.NID)
	}
	if s.NotSigned > 0 {
		fmt.Fprintf(&b, "dropped %s that were not signed with the key of this node, or signed though it has none: see key_file\n", cli.Count(int(s.NotSigned), "message", "messages"))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// onlyGroup leaves only the group that args names, if it names one.
func onlyGroup(s *rmcast.Status, args []string) error {
	if len(args) == 0 {
		return nil
	}
	for i := range s.Groups {
		if s.Groups[i].Name == args[0] {
			s.Groups = s.Groups[i : i+1]
			return nil
		}
	}
	return cli.Hint(fmt.Errorf("there is no multicast group %s", args[0]), "'scollctl mcast groups' lists them")
}

// shownStats are the counters that status shows if they are not 0.
var shownStats = []string{
	"sent", "released", "delivered", "datagrams", "packed", "repairs", "repaired", "needless", "acks", "fetches", "takeovers", "discarded", "stranger", "forged", "malformed",
	"inconsistent", "other_group", "other_version", "window", "unknown", "ahead", "denied", "healed", "returned", "unproven", "no_memory",
}

func printMcast(b *strings.Builder, s *rmcast.GroupStatus, self nid.NID) {
	fmt.Fprintf(b, "%s (group %d): %s", s.Name, s.Number, s.State)
	if s.Manager.IsValid() {
		fmt.Fprintf(b, ", managed by %v", s.Manager)
	} else {
		b.WriteString(", no manager was heard")
	}
	if len(s.Members) > 0 {
		fmt.Fprintf(b, ", version %s, ", s.Version)
		if s.State != "out" && s.Usable != s.Version {
			fmt.Fprintf(b, "which not all have (messages go to the members of %s), ", s.Usable)
		}
		fmt.Fprintf(b, "%s:", cli.Count(len(s.Members), "member", "members"))
		for i, m := range s.Members {
			if i == shownNIDs {
				fmt.Fprintf(b, " and %d more", len(s.Members)-i)
				break
			}
			fmt.Fprintf(b, " %v", m.NID)
		}
	}
	b.WriteByte('\n')
	if s.State != "out" && len(s.Members) > 0 {
		how := "the payload goes down the tree: not all members have multicast"
		if s.Multicast {
			how = "by multicast"
		}
		fmt.Fprintf(b, "  %s; %d bytes in a datagram, %d of %d datagrams in flight, round trip %v\n", how, s.Fragment, s.InFlight, s.Limit, ofMicros(s.RTTUS))
	}
	if s.Refused != "" {
		fmt.Fprintf(b, "  a manager refuses this node: %s\n", s.Refused)
	}
	if m := s.Managing; m != nil && m.Alone {
		b.WriteString("  this manager hears too few members: nobody joins, and no silent member is left behind\n")
	}
	if f := s.Faults; f.Acks > 0 || f.Datagrams > 0 {
		fmt.Fprintf(b, "  on purpose, %g of acknowledgements and %g of datagrams are discarded here\n", f.Acks, f.Datagrams)
	}
	printStreams(b, s)
	for i := range s.Waits {
		fmt.Fprintf(b, "  %s\n", waitLine(&s.Waits[i], self))
	}
	var shown []string
	for _, name := range shownStats {
		if n := s.Stats[name]; n > 0 {
			shown = append(shown, fmt.Sprintf("%s %d", strings.ReplaceAll(name, "_", " "), n))
		}
	}
	if len(shown) > 0 {
		fmt.Fprintf(b, "  %s\n", strings.Join(shown, ", "))
	}
}

func printStreams(b *strings.Builder, s *rmcast.GroupStatus) {
	if len(s.Streams) == 0 {
		return
	}
	var t cli.Table
	t.Row("  ORIGIN", "STABLE", "DELIVERED", "HEAD", "VERSION")
	for _, o := range s.Streams {
		t.Row(fmt.Sprintf("  %v", o.Origin), o.Stable, o.Delivered, o.Head, o.Version)
	}
	_ = t.Print(b) // cannot fail: writing to a strings.Builder never does
}

// waitLine returns a line about the member for whose acknowledgement an origin waits.
func waitLine(w *rmcast.Wait, self nid.NID) string {
	line := fmt.Sprintf("message %d of %v waits for %v", w.Seq, w.Origin, w.Child)
	switch {
	case w.Pending && w.For.IsValid() && w.For != w.Child:
		line += fmt.Sprintf(", which has it and waits for %v", w.For)
		if w.Above.IsValid() {
			line += fmt.Sprintf(" (edge %v to %v)", w.Above, w.For)
		}
	case w.Pending:
		line += ", which has it and waits for others"
	default:
		line += fmt.Sprintf(" (edge %v to %v)", self, w.Child)
	}
	line += fmt.Sprintf(", for %v", ofMicros(w.SinceUS))
	if w.Tries > 0 {
		line += fmt.Sprintf(", asked %s", cli.Count(w.Tries, "time", "times"))
	}
	return line
}
