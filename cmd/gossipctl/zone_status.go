package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	zonemod "ulnet/cmd/internal/modules/zone"
	"ulnet/gossip/zone"
)

func zoneStatusCommand(g *globals) *cobra.Command {
	return cli.Question[zone.Status]{
		Use: "status", Short: "Show the state of this node in its zone",
		Long: `Shows the zone, this node's part in it, and counters that are not 0 and should make
one look.`,
		Example: "  gossipctl zone status --json | jq .members",
		Args:    cli.Args(),
		Ask: func(ctx context.Context, _ []string) (zone.Status, error) {
			return zonemod.OpStatus.Call(ctx, g.client(), control.None{})
		},
		Print: printZoneStatus,
	}.Command(&g.json)
}

func printZoneStatus(w io.Writer, s zone.Status) error {
	var t cli.Table
	t.Row("zone:", s.Zone)
	t.Row("node:", s.Self)
	t.Row("state:", s.State)
	t.Row("version:", s.Version)
	t.Row("members:", s.Members)
	t.Row("gone:", s.Gone)
	t.Row("links:", s.Links)
	t.Row("suspects:", s.Suspects)
	t.Row("monitors:", s.Monitors)
	t.Row("theta:", s.Threshold)
	t.Row("view:", fmt.Sprintf("%016x", s.Hash))
	t.Row("attributes:", fmt.Sprintf("%016x", s.Tables))
	t.Row("role:", zoneRole(&s))
	if s.Delegation.Supervisor.IsValid() {
		text := s.Delegation.Supervisor.String()
		if !s.Delegation.Answered {
			text += " (has not answered yet)"
		}
		t.Row("supervisor:", text)
	}
	for i := range s.Delegation.Unreached {
		u := &s.Delegation.Unreached[i]
		t.Row("unreached:", fmt.Sprintf("%v for %v: %s (%s)", u.Supervisor, u.For.Round(time.Second), zonemod.TroubleText(u.Why), cli.Count(u.Tries, "attempt", "attempts")))
	}
	if s.Delegation.CutOff {
		t.Row("cut off:", "this delegate reaches no supervisor: see its network, and management in its configuration")
	}
	if s.Delegation.Contested {
		t.Row("contested:", "the supervisor counts another zone of this name, or another part of it: if that stays, give one another name")
	}
	for _, name := range s.Guarded {
		t.Row("guards:", name)
	}
	if why := zonemod.Alone(&s); why != "" {
		t.Row("alone:", why)
	}
	if s.State == "left" {
		t.Row("left:", "'gossipctl zone join' joins it again")
	}
	if s.Muted {
		t.Row("muted:", "so many links failed at once that this node believes none of it: see its network")
	}
	if s.Paused {
		t.Row("paused:", "this node stood still lately, and suspects nobody")
	}
	for _, n := range []struct {
		Name  string
		Value uint64
	}{
		{Name: "of other zones:", Value: s.Stats.OtherZone},
		{Name: "without the key:", Value: s.Stats.NotSigned},
		{Name: "refused:", Value: s.Stats.Refusals() - s.Stats.OtherZone - s.Stats.NotSigned},
		{Name: "not sent:", Value: s.NotSent},
		{Name: "far ahead:", Value: s.Stats.TooFarAhead},
		{Name: "of programs:", Value: s.OtherPID},
		{Name: "of other NIDs:", Value: s.Stats.OtherNID},
		{Name: "not written:", Value: s.Stats.NotWritten},
		{Name: "tables refused:", Value: s.Stats.TooLarge + s.Stats.TooManyKeys + s.Stats.RepeatedKeys},
		{Name: "local errors:", Value: s.Stats.LocalErrors},
		{Name: "clashes:", Value: s.Stats.Clashes},
		{Name: "contests:", Value: s.Stats.Contested},
		{Name: "view full:", Value: s.Stats.ViewFull},
		{Name: "zones refused:", Value: s.Stats.TooManyZones},
		{Name: "pauses:", Value: s.Stats.Pauses},
	} {
		if n.Value > 0 {
			t.Row(n.Name, n.Value)
		}
	}
	return t.Print(w)
}

func zoneRole(s *zone.Status) string {
	switch {
	case s.Supervises:
		return "supervisor"
	case s.Delegation.Activation > 0:
		return fmt.Sprintf("delegate, the active one (activation %d)", s.Delegation.Activation)
	case s.Delegation.Delegate:
		return "delegate"
	}
	return "member"
}
