package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"syscall"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	zonemod "ulnet/cmd/internal/modules/zone"
	"ulnet/gossip/zone"
)

// zoneLookInterval is the time between two requests for the members of a base zone, for which
// the daemon may have to ask a supervisor over the network.
const zoneLookInterval = time.Second

// zoneChange is the JSON output for a node that joined or left a base zone.
type zoneChange struct {
	Time    time.Time    `json:"time"`
	Event   string       `json:"event"` // joined or left
	Zone    string       `json:"zone"`
	ID      zone.ID      `json:"id"`
	Version zone.Version `json:"version"`
}

// baseWatcher compares the members of a base zone with those of the previous request.
type baseWatcher struct {
	g       *globals
	out     io.Writer
	zone    string
	members []zone.Named // members of the previous request, sorted by id
	begun   bool
}

// run asks repeatedly until ctx ends. At times the members are unknown: the zone's entry in the
// census is not current, no supervisor answers, or the supervisor does not know the whole zone.
// When the members are known again, run shows the changes since the last time.
func (w *baseWatcher) run(ctx context.Context) error {
	return cli.Repeat(ctx, zoneLookInterval, func() error {
		list, err := zonemod.OpZone.Call(ctx, w.g.client(), zonemod.BaseZone{Zone: w.zone})
		switch {
		case w.begun && (errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ETIMEDOUT)):
			return nil
		case err != nil:
			return err
		}
		census, err := zonemod.OpCensus.Call(ctx, w.g.client(), control.None{})
		if err != nil {
			return err
		}
		i := slices.IndexFunc(census, func(e zone.CensusEntry) bool { return e.Zone == w.zone })
		if i < 0 || census[i].State != zone.Current || census[i].Size != len(list) {
			return nil
		}
		return w.look(time.Now(), list)
	})
}

// look shows the changes, first the nodes that left. A node in a new incarnation is shown as
// one that left and one that joined.
func (w *baseWatcher) look(now time.Time, list []zone.Named) error {
	old := w.members
	slices.SortFunc(list, func(a, b zone.Named) int { return a.ID.Compare(b.ID) })
	w.members, w.begun = list, true
	if err := w.show(now, "left", old, list); err != nil {
		return err
	}
	return w.show(now, "joined", list, old)
}

// show shows an event for each node of list that is not in others with the same incarnation.
func (w *baseWatcher) show(now time.Time, event string, list, others []zone.Named) error {
	for _, n := range list {
		i, found := slices.BinarySearchFunc(others, n.ID, func(o zone.Named, id zone.ID) int { return o.ID.Compare(id) })
		if found && others[i].Version.Inc == n.Version.Inc {
			continue
		}
		if err := w.change(&zoneChange{now, event, w.zone, n.ID, n.Version}); err != nil {
			return err
		}
	}
	return nil
}

func (w *baseWatcher) change(c *zoneChange) error {
	if w.g.json {
		return json.NewEncoder(w.out).Encode(c)
	}
	_, err := fmt.Fprintf(w.out, "%s  %-10s %v %v of zone %s\n", c.Time.Local().Format(timeLayout), c.Event, c.ID, c.Version, c.Zone)
	return err
}
