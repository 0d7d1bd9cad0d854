// Package zone is the module of zone membership: the zone that the configuration names, its
// events, and the operations on it.
package zone

import (
	"context"
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
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/handlers"
	"ulnet/cmd/internal/node"
	"ulnet/gossip/zone"
	"ulnet/portals/keyring"
)

// keptEvents is how many events are stored for queries, and keptKeys how many keys of attributes
// they may name together, because a member can write thousands of attributes again and again.
const (
	keptEvents = 4096
	keptKeys   = 1 << 16
)

// Module is the membership of a node in a zone.
type Module struct {
	node.Host
	zone *zoner // the node's zone; nil: the configuration names none
}

// New returns the module of a node.
func New(host node.Host) *Module { return &Module{Host: host} }

// Routes are the operations of the zone.
func (m *Module) Routes() []control.Route {
	return []control.Route{
		OpStatus.Do(control.Ask(m.Status)), OpMembers.Do(control.Quick(m.Members)),
		OpEvents.Do(control.Quick(func(r EventsFrom) (Events, error) { return m.Events(r.From) })),
		OpSuspicions.Do(control.Ask(m.Suspicions)), OpCensus.Do(control.Ask(m.Census)),
		OpZone.Do(func(ctx context.Context, r BaseZone) ([]zone.Named, error) { return m.Of(ctx, r.Zone) }),
		OpTopology.Do(control.Ask(m.Topology)),
		OpAttributes.Do(control.Quick(func(r NodeName) (NodeAttributes, error) { return m.Attributes(r.Node) })),
		OpExplain.Do(control.Quick(func(r NodeName) (zone.Explanation, error) { return m.Explain(r.Node) })),
		OpWrite.Do(control.Act(m.Write)), OpJoin.Do(control.Just(m.Join)),
		OpLeave.Do(control.Act(m.Leave)), OpRemove.Do(control.Act(m.Remove)),
	}
}

// zoner is the state of a node that is in a zone.
type zoner struct {
	agent *zone.Agent
	cfg   *config.Zone
	log   *slog.Logger
	id    zone.ID
	stop  func() // ends the watch of the agent's events

	handlers *handlers.Set // event handlers, which get the events
	alone    func()        // stops the timer that lookAround has started; nil before the first join

	changing chan struct{} // a lock: full while the node joins or leaves; guards z.alone. A channel, so that leave can stop waiting for it

	mu     sync.Mutex
	events []Event // the latest events; guarded by mu, like the fields below
	next   uint64
	keys   int // number of attribute keys that all events name together
}

// Event is something that happened in the zone, with its number. The watches of 'gossipctl
// zone' print it as JSON, and event handlers get it.
type Event struct {
	Source string    `json:"source"` // source of the event: config.ZoneSource
	Number uint64    `json:"number"` // rises by one with each event
	Time   time.Time `json:"time"`   // time of the event, by the wall clock
	zone.Event
	// Missed is how many events before this one a watch did not see, because it asked too late.
	// Event handlers get the number of missed events in their batch instead.
	Missed uint64 `json:"missed,omitempty"`
}

// MarshalJSON leaves out the cause unless the event is that a member has gone.
func (e Event) MarshalJSON() ([]byte, error) {
	type plain Event
	if e.Kind == zone.Left {
		return json.Marshal(plain(e))
	}
	return json.Marshal(struct {
		plain
		Cause *zone.Cause `json:"cause,omitempty"` // overrides the field Cause of zone.Event
	}{plain: plain(e)})
}

// Open joins the zone that the configuration names.
func (m *Module) Open() error {
	cfg := m.Config.Zone
	if !cfg.Enabled() {
		return nil
	}
	id, err := m.id()
	if err != nil {
		return cfg.At.Wrap(err)
	}
	z := &zoner{cfg: &m.Config.Zone, log: m.Log, handlers: m.Handlers, id: id, changing: make(chan struct{}, 1), next: 1}
	agent := cfg.Agent()
	agent.Self, agent.Seed, agent.Log, agent.Clock, agent.Wall = id, m.Incarnation(), m.Log, m.Clock, time.Now
	agent.Last, agent.Keep = z.lastIncarnation(m.Config.StateDir), z.keeper(m.Config.StateDir, m.State)
	z.agent, err = zone.New(m.Table, agent)
	if errors.Is(err, zone.ErrNotHere) {
		err = cli.Hint(err, "nids in the section zone: this node is %s", cli.NIDList(m.NIDs()))
	}
	if err != nil {
		return cfg.At.Wrap(err)
	}
	z.stop = z.agent.Watch(z.happened)
	m.zone = z
	err = z.join()
	if errors.Is(err, zone.ErrOldIncarnation) {
		err = cli.Hint(err, "all incarnations of %v are used up: give it another name with node in the section zone", id)
	}
	return cfg.At.Wrap(err)
}

// id returns the node's id.
func (m *Module) id() (zone.ID, error) {
	cfg := &m.Config.Zone
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
		nids = m.NIDs()
	}
	id, err := zone.NewID(name, nids...)
	if err != nil {
		err = cli.Hint(fmt.Errorf("%w: %q at %s", err, name, cli.NIDList(nids)), "set node and nids in the section zone")
	}
	return id, err
}

// happened stores an event, and passes it to the event handlers. It is called for one event at a
// time.
func (z *zoner) happened(e zone.Event) {
	e.Attributes = nil // left out, as they may be large; clients can ask for them
	event := z.keepEvent(e)
	z.handlers.Tell(event.eventName(), &event)
}

// keepEvent gives an event its number, and stores the event.
func (z *zoner) keepEvent(e zone.Event) Event {
	z.mu.Lock()
	defer z.mu.Unlock()
	event := Event{Source: config.ZoneSource, Number: z.next, Time: time.Now().Round(0), Event: e}
	z.events = append(z.events, event)
	z.next++
	if z.keys += len(e.Keys); len(z.events) > 2*keptEvents || z.keys > 2*keptKeys {
		z.forget()
	}
	return event
}

// forget removes old events. It keeps as many of the latest events as the bounds allow, and always the latest
// one.
func (z *zoner) forget() {
	from := len(z.events) - 1
	z.keys = len(z.events[from].Keys)
	for from > 0 && len(z.events)-from < keptEvents && z.keys+len(z.events[from-1].Keys) <= keptKeys {
		from--
		z.keys += len(z.events[from].Keys)
	}
	z.events = slices.Clone(z.events[from:])
}

// since returns the events from the one with the given number on, and the number of the next
// event.
func (z *zoner) since(number uint64) (list []Event, next uint64) {
	z.mu.Lock()
	defer z.mu.Unlock()
	for i := range z.events {
		if z.events[i].Number >= number {
			return slices.Clone(z.events[i:]), z.next
		}
	}
	return nil, z.next
}

// agent returns the agent. ESRCH: the node is in no zone.
func (m *Module) agent() (*zone.Agent, error) {
	if m.zone == nil {
		return nil, cli.Hint(cli.Errno(syscall.ESRCH, errors.New("this node is in no zone")),
			"set name in the section zone of the configuration of lnetd, and start it again")
	}
	return m.zone.agent, nil
}

// eventName returns the name of an event, by which event handlers select it.
func (e *Event) eventName() string {
	name := config.ZoneSource + "." + e.Kind.String()
	if e.Kind == zone.Left {
		name += "." + e.Cause.String()
	}
	return name
}

// Keys returns the keys of the section zone of the configuration.
func (m *Module) Keys() *node.Keys {
	file := m.Config.Zone.KeyFile
	if m.zone == nil || file == "" {
		return nil
	}
	return &node.Keys{Section: "zone", File: file, Set: m.zone.setKeys, Count: m.zone.countKeys}
}

func (z *zoner) setKeys(keys keyring.Keys) error {
	z.agent.SetKeys(keys)
	return nil
}

func (z *zoner) countKeys(k *node.KeysStatus) {
	s := z.agent.Status()
	k.Keys, k.Verified, k.Refused = s.Keys, s.Verified, s.Stats.NotSigned
}
