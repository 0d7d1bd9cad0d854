package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	zonemod "ulnet/cmd/internal/modules/zone"
	"ulnet/gossip/zone"
)

func zoneWatchCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "watch [ZONE]",
		Short: "Watch who joins and leaves the zone, or a base zone",
		Long: `Prints a line for each node that joins or leaves, beginning with the last 4096 that
did, and with --json an object for each. It ends with an interrupt. In the
management zone it can name a base zone: then it begins with all members of that,
and looks every second. Who leaves and joins again in between in the same life is
not seen, and nothing is told while the zone's entry in the census is not current.`,
		Example: "  gossipctl zone watch | tee changes\n  gossipctl zone watch rack7",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				w := baseWatcher{g: g, out: c.OutOrStdout(), zone: args[0]}
				return w.run(c.Context())
			}
			w := zoneWatcher{g: g, out: c.OutOrStdout(), wants: func(e *zonemod.Event) bool { return e.Kind != zone.AttributesChanged }}
			return w.run(c.Context())
		},
	}
}

func zoneAttrWatchCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "watch [NODE]",
		Short: "Watch attributes change",
		Long: `Prints a line for each node whose attributes change, or of one node alone, with the
keys that did; with --json an object for each. It ends with an interrupt.`,
		Example: "  gossipctl zone attr watch n7",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			w := zoneWatcher{g: g, out: c.OutOrStdout(), wants: func(e *zonemod.Event) bool {
				return e.Kind == zone.AttributesChanged && (len(args) == 0 || e.ID.Name() == args[0] || e.ID.String() == args[0])
			}}
			return w.run(c.Context())
		},
	}
}

// zoneWatcher asks the daemon repeatedly, and shows new events.
type zoneWatcher struct {
	g     *globals
	out   io.Writer
	wants func(*zonemod.Event) bool
	next  uint64

	missed uint64 // number of events that the daemon dropped before they were read and that no line has shown yet
}

func (w *zoneWatcher) run(ctx context.Context) error {
	return cli.Repeat(ctx, lookInterval, func() error {
		news, err := zonemod.OpEvents.Call(ctx, w.g.client(), zonemod.EventsFrom{From: w.next})
		if err != nil {
			return err
		}
		return w.show(news)
	})
}

func (w *zoneWatcher) show(news zonemod.Events) error {
	if news.Next < w.next { // lower numbers mean that the daemon was restarted
		w.next = 0
		return nil
	}
	if len(news.Events) > 0 && w.next > 0 && news.Events[0].Number > w.next {
		w.missed += news.Events[0].Number - w.next
	}
	w.next = news.Next
	for i := range news.Events {
		e := &news.Events[i]
		if !w.wants(e) {
			continue
		}
		e.Missed, w.missed = w.missed, 0
		if err := w.event(e); err != nil {
			return err
		}
	}
	return nil
}

func (w *zoneWatcher) event(e *zonemod.Event) error {
	if w.g.json {
		return json.NewEncoder(w.out).Encode(e)
	}
	line := zoneEventLine(&e.Event)
	if e.Missed > 0 {
		line += fmt.Sprintf(" (%d events before were left out)", e.Missed)
	}
	_, err := fmt.Fprintf(w.out, "%s  %s\n", e.Time.Local().Format(timeLayout), line)
	return err
}

// zoneEventLine returns an event in words.
func zoneEventLine(e *zone.Event) string {
	line := fmt.Sprintf("%-10v %v", e.Kind, e.ID)
	switch e.Kind {
	case zone.Left:
		switch {
		case e.Cause == zone.Said && e.Code == zone.CodeRemoved:
			return line + fmt.Sprintf(" %v (removed by an administrator)", e.Version)
		case e.Cause == zone.Said:
			return line + fmt.Sprintf(" %v (said, code %d)", e.Version, e.Code)
		}
		return line + fmt.Sprintf(" %v (%v)", e.Version, e.Cause)
	case zone.Doubted:
		return line + fmt.Sprintf(" %v: silent; removed soon unless it answers", e.Version)
	case zone.FarAhead:
		return line + fmt.Sprintf(" %v: that is not believed; compare the clocks", e.Version)
	case zone.AttributesChanged:
		keys := make([]string, len(e.Keys))
		for i, k := range e.Keys {
			keys[i] = quoted(k)
		}
		return line + " " + strings.Join(keys, " ")
	case zone.Alarmed:
		return fmt.Sprintf("%-10v %v of zone %s, by %d", e.Kind, e.Suspect.ID, e.Zone, e.Reporters)
	case zone.SupervisorLost:
		return fmt.Sprintf("%-10v %v: %s", e.Kind, e.Suspect.ID, zonemod.TroubleText(e.Trouble))
	case zone.SupervisorFound:
		return fmt.Sprintf("%-10v %v: it answers again", e.Kind, e.Suspect.ID)
	case zone.ZoneRefused:
		return fmt.Sprintf("%-10v zone %s: the census has no room for more than %d zones of one supervisor", e.Kind, e.Zone, e.Size)
	case zone.Contested:
		line = fmt.Sprintf("%-10v zone %s, by", e.Kind, e.Zone)
		for _, n := range e.Members {
			line += " " + n.ID.String()
		}
		return line + ": two zones have that name, or one is parted"
	}
	return line + " " + e.Version.String()
}
