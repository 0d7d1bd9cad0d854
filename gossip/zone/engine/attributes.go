package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnet/machine"
)

// attributes are the attribute tables of all nodes (MS-70 to MS-91).
type attributes struct {
	of       map[wire.Ref]*replica
	order    []wire.Ref // owners of all tables in the map, for iteration in a fixed order
	hash     uint64
	dirty    []wire.Ref // tables with versions that were not sent to the neighbours yet
	pushes   []wire.Ref // tables to request from all neighbours with a push (MS-84)
	pushed   bitmap
	answered bitmap    // tables that are in the answer being built
	waiting  []waiting // offers of nodes that are not in the view yet (MS-A18)
	open     int       // number of requests without an answer
	monitors []wire.Ref
	merged   []wire.Ref // tables that the message being processed has changed
	at       time.Duration
	phase    time.Duration
}

// waiting is an offer of attributes that arrived before the news that their owner is alive.
type waiting struct {
	wire.TableVersion
	from wire.Ref
}

const (
	maxWaiting = 1024 // above this number the oldest waiting offers are dropped
	// deathAge is how long death certificates stay after all neighbours have them.
	deathAge = 10 * time.Minute
)

func (a *attributes) init(m *Machine) {
	*a = attributes{of: make(map[wire.Ref]*replica), at: machine.Never}
	a.phase = time.Duration(m.rand(int(m.cfg.Aggregation))) // draw a random phase of the interval (MS-A31)
}

// replica returns the table of a node, and creates it if there is none.
func (a *attributes) replica(m *Machine, p wire.Ref) *replica {
	r := a.of[p]
	if r == nil {
		r = &replica{owner: p, inc: m.view.at(p).inc}
		a.of[p] = r
		a.order = append(a.order, p)
	}
	return r
}

// arm schedules the next round. Rounds are periodic, with a random phase, but take place only
// when there is something to send (MS-76, MS-77).
func (a *attributes) arm(m *Machine) {
	if a.at == machine.Never {
		period := m.cfg.Aggregation
		a.at = m.now + period - (m.now+a.phase)%period
	}
}

func (m *Machine) hashOf(r *replica) uint64 {
	if r.u == 0 {
		return 0
	}
	return mix(m.cfg.Table.Short(r.owner)^r.inc*0x9E3779B97F4A7C15, r.u)
}

// changing takes a table out of the hash of all tables before the table changes; changed puts it back and
// schedules the update of neighbours.
func (a *attributes) changing(m *Machine, r *replica) { a.hash ^= m.hashOf(r) }

func (a *attributes) changed(m *Machine, r *replica) {
	a.hash ^= m.hashOf(r)
	if r.u > r.sent && !r.dirty {
		r.dirty = true
		a.dirty = append(a.dirty, r.owner)
		a.arm(m)
	}
}

// Why an attribute cannot be written.
var (
	ErrKey   = wrong("an attribute's key has 1 to %d bytes", wire.MaxKey)
	ErrTable = wrong("the attributes of the node would be too large")
	ErrKeys  = wrong("the node would have too many attributes")
)

// Fits reports whether an attribute can be written: the error is [ErrKey] or wraps
// [ErrTable] or [ErrKeys].
func (m *Machine) Fits(key string, value []byte) error {
	a := wire.Attribute{Key: key, Value: value}
	if len(key) == 0 || len(key) > wire.MaxKey {
		return ErrKey
	}
	have := bound{bytes: a.Size(), keys: 1}
	if r := m.attributes.of[m.self]; r != nil {
		have.bytes += r.bytes
		have.keys += r.keys
		if i := r.find(key); i >= 0 {
			have.bytes -= r.entries[i].Size()
			have.keys--
		}
	}
	switch {
	case have.bytes > m.cfg.MaxAttributes:
		return fmt.Errorf("%w: %d bytes of %d with this one: delete others, or write less", ErrTable, have.bytes, m.cfg.MaxAttributes)
	case have.keys > m.cfg.MaxKeys:
		return fmt.Errorf("%w: %d keys of %d with this one, counting those deleted in the last minutes: write fewer keys with larger values", ErrKeys, have.keys, m.cfg.MaxKeys)
	}
	return nil
}

// Admit is Fits for a write or a deletion, and counts refused ones. Deleting an attribute that
// does not exist is always possible.
func (m *Machine) Admit(a *wire.Attribute) error {
	if r := m.attributes.of[m.self]; a.Deleted && len(a.Key) > 0 && (r == nil || r.find(a.Key) < 0) {
		return nil
	}
	err := m.Fits(a.Key, a.Value)
	if err != nil {
		m.stats.NotWritten++
	}
	return err
}

// write writes an attribute of this node (MS-70, MS-73), or deletes it: a deletion is a write,
// too (MS-89).
func (m *Machine) write(a wire.Attribute) {
	if err := m.Admit(&a); err != nil {
		m.tell(Event{Kind: Refused, Node: m.self, Keys: []string{a.Key}})
		return
	}
	r := m.attributes.replica(m, m.self)
	if i := r.find(a.Key); a.Deleted && (i < 0 || r.entries[i].Deleted) {
		return
	}
	m.attributes.changing(m, r)
	a.U = r.u + 1
	r.put(a, int64(m.now))
	r.notified = r.u
	m.attributes.changed(m, r)
}

// renumber moves this node's table to a new incarnation, which the node took to refute a
// suspicion.
func (a *attributes) renumber(m *Machine, inc uint64) {
	if r := a.of[m.self]; r != nil {
		a.changing(m, r)
		r.inc, r.sent = inc, 0
		a.changed(m, r)
	}
}

// drop deletes the table of a node that left (MS-88).
func (a *attributes) drop(m *Machine, p wire.Ref) {
	r := a.of[p]
	if r == nil {
		return
	}
	a.changing(m, r)
	if r.target != 0 {
		a.open--
	}
	delete(a.of, p)
	a.order = slices.DeleteFunc(a.order, func(q wire.Ref) bool { return q == p })
	if r.dirty {
		a.dirty = slices.DeleteFunc(a.dirty, func(q wire.Ref) bool { return q == p })
	}
	a.monitors = slices.DeleteFunc(a.monitors, func(q wire.Ref) bool { return q == p })
}

// joined is called when a node has joined the view. It requests the versions of the node's table
// that other nodes have offered before.
func (a *attributes) joined(m *Machine, p wire.Ref) {
	inc := m.view.at(p).inc
	var late []waiting
	a.waiting = slices.DeleteFunc(a.waiting, func(w waiting) bool {
		if w.Owner == p && w.Inc == inc {
			late = append(late, w)
		}
		return w.Owner == p && w.Inc <= inc
	})
	for _, w := range late {
		a.ask(m, &w.TableVersion, w.from)
	}
}

// changedKeys reports changed keys to the user, in one event for a table (MS-85, MS-A23).
func (a *attributes) changedKeys(m *Machine, r *replica, keys []string) {
	if slices.Contains(keys, MonitorKey) {
		i := r.find(MonitorKey)
		is, was := i >= 0 && !r.entries[i].Deleted, slices.Index(a.monitors, r.owner)
		switch {
		case is && was < 0:
			a.monitors = append(a.monitors, r.owner)
		case !is && was >= 0:
			a.monitors = slices.Delete(a.monitors, was, was+1)
		}
	}
	if m.delegate != nil {
		m.delegate.attributes(m, r, keys)
	}
	if m.cfg.Supervisor {
		m.supervisor.attributes(m, r, keys)
	}
	if r.u > r.notified {
		r.notified = r.u
		m.tell(Event{Kind: AttributesChanged, Node: r.owner, Version: m.view.at(r.owner).version(), Keys: keys, Attributes: r.live()})
	}
}

// compact drops death certificates that all neighbours have had for a long time (MS-A22).
func (a *attributes) compact(m *Machine) {
	for _, p := range a.order {
		r := a.of[p]
		if r.deaths == 0 || !a.agreed(m) {
			continue
		}
		for i := len(r.entries) - 1; i >= 0; i-- {
			if e := &r.entries[i]; e.Deleted && m.now-time.Duration(e.since) >= deathAge {
				zone, found := strings.CutPrefix(e.Key, CensusKey)
				r.floor = max(r.floor, e.U)
				if r.takeOut(i); found && p == m.self {
					m.supervisor.release(m, zone)
				}
			}
		}
		r.sweep()
	}
}

// agreed reports whether the last heartbeats of all neighbours had the same hash of tables as
// this node.
func (a *attributes) agreed(m *Machine) bool {
	return !slices.ContainsFunc(m.links.list, func(l link) bool { return l.state != up || !l.same })
}

func (a *attributes) marks(keep *bitmap) {
	for _, w := range a.waiting {
		keep.set(w.Owner)
		keep.set(w.from)
	}
}
