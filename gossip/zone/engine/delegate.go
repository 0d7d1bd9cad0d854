package engine

import (
	"slices"
	"strconv"
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnet/machine"
)

// delegateKey is the attribute by which a node declares itself a delegate of its base zone. Its
// value is the node's activation, or 0 if it is not the active delegate (MS-96, MS-A24).
const delegateKey = "zone.delegate"

// delegation is the part of a node that represents its base zone in the hierarchy (membership
// design, Sec. 2). The members that come first in the order of a hash are delegates. If no
// delegate is active, the first one becomes active and stays active for the rest of its
// incarnation. Each activation has a number: of two active delegates, the one with the higher
// number takes precedence.
type delegation struct {
	claims  []claim // activations that other members have published, see claim
	stale   bool    // the view or the claims have changed, so elect has to run
	quiet   time.Duration
	own     uint64 // number of this node's activation; 0: it is not active
	highest uint64 // the highest number of an activation ever seen
	claimed bool   // this node has written the attribute delegateKey
	serving bool   // this node is a delegate, active or not

	search
	registration uint64
	marks        []mark        // what other members have published of their supervisors, see mark
	mark         string        // the value that this node last wrote to the attribute supervisorKey
	told         string        // the value that this node last wrote to the attribute supervisorsKey
	due          time.Duration // when the next message to the supervisor is sent; Never without a supervisor
	changes      time.Duration // time before which changes of the zone are not reported again
	whole        wholeList
	joined, left []wire.Named // changes that have not been reported to the supervisor yet
	untold       bool         // some change has not been reported to the supervisor yet
	contested    bool         // in its last answer the supervisor named another delegate as the active one
}

// maxActivation is above all numbers of activations: an attribute with this number or a higher one
// is ignored.
const maxActivation = 1 << 62

// claim is the value of the attribute delegateKey of another member.
type claim struct {
	node       wire.Ref
	activation uint64
}

func newDelegation(m *Machine) *delegation {
	d := &delegation{due: machine.Never, quiet: m.now + 2*m.cfg.Aggregation, stale: true, changes: m.now}
	d.widen(m)
	return d
}

// patience is a time in units of τ after a node's start, in which its zone may still be forming. After a join in
// this time, the node waits for 2τ before it takes part in the choice of delegates. Later joins do not make it
// wait.
const patience = 25

// memberJoined notes that a member joined. While the zone forms, its members do not know yet
// which of them is the first in the order of delegates.
func (d *delegation) memberJoined(m *Machine, p wire.Ref, v wire.Version) {
	d.stale = true
	if m.now < m.began+patience*m.cfg.Aggregation {
		d.quiet = m.now + 2*m.cfg.Aggregation
	}
	d.tell(m, &d.joined, p, v)
}

// memberLeft notes that a member left.
func (d *delegation) memberLeft(m *Machine, p wire.Ref, v wire.Version) {
	d.stale = true
	d.claims = slices.DeleteFunc(d.claims, func(c claim) bool { return c.node == p })
	d.marks = slices.DeleteFunc(d.marks, func(k mark) bool { return k.node == p })
	d.tell(m, &d.left, p, v)
}

// tell records that the supervisor must be told of a change in membership. It adds the change
// to a list, unless the supervisor gets the whole view with the next registration.
func (d *delegation) tell(m *Machine, list *[]wire.Named, p wire.Ref, v wire.Version) {
	d.untold = true
	if d.own > 0 && !d.whole.due(m) {
		*list = append(*list, wire.Named{ID: m.cfg.Table.ID(p), Version: v})
	}
}

// claim stores the value of a member's attribute delegateKey.
func (d *delegation) claim(p wire.Ref, value []byte, there bool) {
	d.stale = true
	d.claims = slices.DeleteFunc(d.claims, func(c claim) bool { return c.node == p })
	if n, err := strconv.ParseUint(string(value), 10, 62); there && err == nil { // valid claims are below maxActivation
		d.claims = append(d.claims, claim{p, n})
		d.highest = max(d.highest, n)
	}
}

// next returns the next deadline of the delegation.
func (d *delegation) next(m *Machine) time.Duration {
	at := d.due
	if d.stale && !d.serving && m.now < d.quiet {
		at = min(at, d.quiet)
	}
	if d.own > 0 && d.untold && d.chosen.IsValid() {
		at = min(at, max(d.changes, d.pause, m.now+1))
	}
	if d.serving {
		at = min(at, d.search.next(m))
	}
	return at
}

// expire handles the deadlines that have passed.
func (d *delegation) expire(m *Machine) {
	if d.stale {
		d.elect(m)
	}
	if !d.serving {
		return
	}
	d.choose(m)
	if m.now >= d.due || d.own > 0 && d.untold && m.now >= max(d.changes, d.pause) {
		d.register(m)
	}
}

// leader returns the active delegate that takes precedence, and the number of its activation. If none is active, leader
// returns this node and 0.
func (d *delegation) leader(m *Machine) (active wire.Ref, activation uint64) {
	active, activation = m.self, d.own
	for _, c := range d.claims {
		if c.activation > activation || c.activation == activation && c.activation > 0 && m.cfg.Table.compareVotes(c.node, active) < 0 {
			active, activation = c.node, c.activation
		}
	}
	return active, activation
}

// elect decides whether this node is a delegate, and the active one.
func (d *delegation) elect(m *Machine) {
	rank := m.rankOfDelegate(m.self, m.cfg.Delegates)
	active, activation := d.leader(m)
	switch {
	case d.own > 0 && active != m.self: // after a partition there can be two active delegates: the one with the lower number resigns
		d.own = 0
		d.publish(m)
	case !d.serving && m.now < d.quiet:
		return // stale stays set, so that elect runs again: a member that comes first, or is active, may yet join
	case activation == 0 && rank == 0, d.succeeds(m, active):
		d.activate()
		d.whole, d.untold = wholeList{wanted: true}, true
		d.publish(m)
	}
	d.stale = false
	d.serve(m, d.own > 0 || rank < m.cfg.Delegates)
}

// activate takes a number above those of all known activations, or the highest possible one.
func (d *delegation) activate() {
	d.highest = min(d.highest+1, maxActivation-1)
	d.own = d.highest
}

// rankOfDelegate returns how many members come before a node in the order of delegates, at most
// the given number.
func (m *Machine) rankOfDelegate(p wire.Ref, most int) (rank int) {
	for _, q := range m.cfg.Table.ballot {
		if q == p || rank == most {
			break
		}
		if m.view.has(q) {
			rank++
		}
	}
	return rank
}

// serve makes this node a delegate if serving is true, and otherwise ends its time as a delegate.
func (d *delegation) serve(m *Machine, serving bool) {
	switch {
	case serving && !d.serving:
		d.serving = true
		d.widen(m) // add the supervisors that earlier delegates have published
		if !d.claimed {
			d.publish(m)
		}
	case !serving && d.serving:
		d.serving = false
		d.unregister(m, false)
		d.due = machine.Never
		d.publish(m)
		d.say(m, &d.mark, supervisorKey, "")
	}
}

// publish writes the attributes by which all members learn the delegates and monitors.
// Members send each suspicion to the monitors immediately (MS-101).
func (d *delegation) publish(m *Machine) {
	d.claimed = d.own > 0 || d.serving
	if d.claimed {
		m.write(wire.Attribute{Key: delegateKey, Value: strconv.AppendUint(nil, d.own, 10)})
	} else {
		m.write(wire.Attribute{Key: delegateKey, Deleted: true})
	}
	d.monitor(m)
	d.announce(m)
	if d.serving {
		d.due = m.now // due now: the supervisor must learn of the change
	}
}

// monitor makes this node a monitor while it is the active delegate, and ends that when it has resigned. If the
// user has made this node a monitor, monitor changes nothing.
func (d *delegation) monitor(m *Machine) {
	value, there := []byte(nil), false
	if r := m.attributes.of[m.self]; r != nil {
		if i := r.find(MonitorKey); i >= 0 {
			value, there = r.entries[i].Value, !r.entries[i].Deleted
		}
	}
	switch {
	case d.own > 0 && !there:
		m.write(wire.Attribute{Key: MonitorKey, Value: []byte(delegateKey)})
	case d.own == 0 && string(value) == delegateKey:
		m.write(wire.Attribute{Key: MonitorKey, Deleted: true})
	}
}
