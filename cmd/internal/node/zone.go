package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/handlers"
	"ulnet/gossip/zone"
)

// keptZoneEvents is how many events are kept for who asks, and keptZoneKeys how many keys
// of attributes they may name together: a member can write thousands again and again.
const (
	keptZoneEvents = 4096
	keptZoneKeys   = 1 << 16
)

// zoner is what a node has of a zone.
type zoner struct {
	agent *zone.Agent
	cfg   *config.Zone
	log   *slog.Logger
	id    zone.ID
	stop  func() // of its watch

	handlers *handlers.Set // that are told of events
	alone    func()        // of the look whether anybody is there; nil before the first join

	changing sync.Mutex // held while it joins or leaves; guards alone

	mu     sync.Mutex
	events []ZoneEvent // the last ones; guarded by mu, like next
	next   uint64
	keys   int // of all events
}

// ZoneEvent is something that happened in the zone, with its number: what the watches of
// 'gossipctl zone' print as JSON, and what event handlers get.
type ZoneEvent struct {
	Source string    `json:"source"` // config.ZoneSource
	Number uint64    `json:"number"`
	Time   time.Time `json:"time"`
	zone.Event
	// Missed is how many events before this one a watch did not see, because it looked
	// too late. Handlers are told of what they miss with their batch.
	Missed uint64 `json:"missed,omitempty"`
}

// MarshalJSON leaves out the cause of what is no departure.
func (e ZoneEvent) MarshalJSON() ([]byte, error) {
	type plain ZoneEvent
	if e.Kind == zone.Left {
		return json.Marshal(plain(e))
	}
	return json.Marshal(struct {
		plain
		Cause *zone.Cause `json:"cause,omitempty"` // stands for that of zone.Event
	}{plain: plain(e)})
}

// startZone joins the zone that the configuration names.
func (n *Node) startZone() error {
	cfg := n.cfg.Zone
	if !cfg.Enabled() {
		return nil
	}
	id, err := n.zoneID()
	if err != nil {
		return cfg.At.Wrap(err)
	}
	z := &zoner{cfg: &n.cfg.Zone, log: n.cfg.Log, handlers: n.handlers, id: id, next: 1}
	agent := cfg.Agent()
	agent.Self, agent.Seed, agent.Log, agent.Clock = id, n.lnet.Incarnation(), n.cfg.Log, n.gossip.clock
	agent.Last, agent.Keep = z.lastLife(n.cfg.StateDir), z.keeper(n.cfg.StateDir)
	z.agent, err = zone.New(n.table, agent)
	if errors.Is(err, zone.ErrNotHere) {
		err = cli.Hint(err, "nids in the section zone: this node is %s", nidList(n.NIDs()))
	}
	if err != nil {
		return cfg.At.Wrap(err)
	}
	z.stop = z.agent.Watch(z.happened)
	n.zone = z
	err = z.join()
	if errors.Is(err, zone.ErrOldLife) {
		err = cli.Hint(err, "all incarnations of %v are used up: give it another name with node in the section zone", id)
	}
	return cfg.At.Wrap(err)
}

// zoneID returns the node's id.
func (n *Node) zoneID() (zone.ID, error) {
	cfg := &n.cfg.Zone
	name := cfg.Node
	if name == "" {
		host, err := os.Hostname()
		if err != nil {
			return zone.ID{}, cli.Hint(err, "node in the section zone says what this node is called")
		}
		name = host
	}
	nids := cfg.NIDs
	if len(nids) == 0 {
		nids = n.NIDs()
	}
	id, err := zone.NewID(name, nids...)
	if err != nil {
		err = cli.Hint(fmt.Errorf("%w: %q at %s", err, name, nidList(nids)), "set node and nids in the section zone")
	}
	return id, err
}

// happened keeps an event and tells the handlers of it. Events come one after the other.
func (z *zoner) happened(e zone.Event) {
	e.Attributes = nil // there may be much; they are asked for
	event := z.keepEvent(e)
	z.handlers.Tell(event.eventName(), &event)
}

// keepEvent gives an event its number and keeps it.
func (z *zoner) keepEvent(e zone.Event) ZoneEvent {
	z.mu.Lock()
	defer z.mu.Unlock()
	event := ZoneEvent{Source: config.ZoneSource, Number: z.next, Time: time.Now().Round(0), Event: e}
	z.events = append(z.events, event)
	z.next++
	if z.keys += len(e.Keys); len(z.events) > 2*keptZoneEvents || z.keys > 2*keptZoneKeys {
		z.forget()
	}
	return event
}

// forget leaves the last events, within the bounds, or the last one alone.
func (z *zoner) forget() {
	from := len(z.events) - 1
	z.keys = len(z.events[from].Keys)
	for from > 0 && len(z.events)-from < keptZoneEvents && z.keys+len(z.events[from-1].Keys) <= keptZoneKeys {
		from--
		z.keys += len(z.events[from].Keys)
	}
	z.events = slices.Clone(z.events[from:])
}

// since returns the events from a number on, and the number of the next one.
func (z *zoner) since(number uint64) (list []ZoneEvent, next uint64) {
	z.mu.Lock()
	defer z.mu.Unlock()
	for i := range z.events {
		if z.events[i].Number >= number {
			return slices.Clone(z.events[i:]), z.next
		}
	}
	return nil, z.next
}

// zoneAgent returns the agent. ESRCH: the node is in no zone.
func (n *Node) zoneAgent() (*zone.Agent, error) {
	if n.zone == nil {
		return nil, cli.Hint(&zoneError{syscall.ESRCH, errors.New("this node is in no zone")},
			"set name in the section zone of the configuration of lnetd, and start it again")
	}
	return n.zone.agent, nil
}

// zoneError is what is wrong with a command, as an errno too.
type zoneError struct {
	errno syscall.Errno
	err   error
}

func (e *zoneError) Error() string   { return e.err.Error() }
func (e *zoneError) Unwrap() []error { return []error{e.errno, e.err} }
