package engine

import (
	"ulnet/gossip/wire"
	"ulnet/lnet/nid"
)

// roll is a change of the list of participants while the cluster runs (GO-A21). A message uses
// one list: it has the ages in the order of that list. A node that has staged the new list
// understands messages that use either list, and sends messages that use the old list. A node
// that has committed also understands both, and sends messages that use the new list.
//
// During a change each message carries parameters with the digest of the list that it uses. Two
// kinds of messages also carry the digest of the new list: messages that use the old list, to a
// partner that knows the new one; and answers that use the new list, from a node that has not
// committed. By these digests each participant learns how far the others are.
type roll struct {
	other     *foreign // the other list; nil: no change is under way
	committed bool     // this node has committed: the field other is the old list; before the commit it was the new one
	self      int      // this node's index in the new list; -1: it is not on that list
	seen      map[nid.NID]RollState
	since     uint64 // after a commit: this node's cycle in which it last got a message that uses the old list
}

// RollState is how far a participant is with a change of the list.
type RollState uint8

// The states of a participant, from what it told this node itself.
const (
	RollUnknown   RollState = iota // the participant sent no message since this node staged
	RollUnstaged                   // the participant knows the old list only
	RollOther                      // the participant has staged a third list
	RollStaged                     // the participant has staged the same list
	RollCommitted                  // the participant has committed to the new list
)

var rollStates = [...]string{"unknown", "unstaged", "other", "staged", "committed"}

// String returns the name of the state.
func (s RollState) String() string { return rollStates[s] }

// MarshalText implements encoding.TextMarshaler.
func (s RollState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// staged reports whether a list waits for Commit.
func (r *roll) staged() bool { return r.other != nil && !r.committed }

// index is the index of a NID in the other list, or -1.
func (r *roll) index(id nid.NID) int {
	if r.other == nil {
		return -1
	}
	return r.other.list.Index(id)
}

// newer returns the list that is changed to, if a change is under way.
func (r *roll) newer(m *Machine) *List {
	if r.committed {
		return m.list
	}
	return r.other.list
}

// CanStage returns an error that says why a list cannot be staged now, nil if it can.
func (m *Machine) CanStage(l *List) error {
	switch {
	case m.stopped:
		return invalid("stopped")
	case m.cfg.Columns > 0:
		return invalid("the list cannot change while only %d columns are tracked", m.cfg.Columns)
	case m.roll.committed:
		return invalid("the last change of the list is not over: wait until all that are alive have committed it")
	case l.Digest() == m.list.Digest():
		return invalid("this list is in force already")
	case l.NID(0).Net() != m.list.NID(0).Net():
		return invalid("the list is of %v: participants are on %v", l.NID(0).Net(), m.list.NID(0).Net())
	}
	_, err := m.cfg.Limits(l.Len())
	return err
}

// CanCommit returns nil if there is a change that can be committed or cancelled now, and
// otherwise an error that says why not.
func (m *Machine) CanCommit() error {
	switch {
	case m.stopped:
		return invalid("stopped")
	case !m.roll.staged():
		return invalid("no list is staged")
	}
	return nil
}

// stage begins a change, or replaces the list that was staged.
func (m *Machine) stage(in Input) {
	if m.CanStage(in.List) != nil {
		m.stats.BadStages++
		return
	}
	m.roll = roll{other: newForeign(in.List, m.list), self: in.Self, seen: make(map[nid.NID]RollState)}
}

// cancel gives up a change that was staged, not one that was committed.
func (m *Machine) cancel() {
	if !m.roll.staged() {
		m.stats.BadStages++
		return
	}
	m.roll = roll{}
}

// spoken returns the list that a message uses: m.list or, during a change, the other list of the
// change. It returns nil if the message uses neither. Each message has the number of participants of
// its list; if it also has parameters, their digest tells which list it is. For a message without
// parameters, if both lists have that number, it depends on the sender:
//   - a sender that is on only one of the lists uses that list
//   - a sender that has committed to the new list uses the new list
//   - any other sender uses m.list: if it knew of a change, its messages would have parameters
func (m *Machine) spoken(msg *incoming) *List {
	r := &m.roll
	is := func(l *List) bool {
		return int(msg.N) == l.Len() && (msg.Flags&wire.FlagParams == 0 || msg.Digest == l.Digest())
	}
	ours, other := is(m.list), r.other != nil && is(r.other.list)
	switch {
	case ours && other && msg.Flags&wire.FlagParams == 0:
		switch {
		case msg.index < 0:
			return r.other.list
		case r.index(msg.from) >= 0 && r.seen[msg.from] == RollCommitted:
			return r.newer(m)
		}
		return m.list
	case ours:
		return m.list
	case other:
		return r.other.list
	}
	return nil
}

// note records how far the sender of a message is with the change. A sender that counts as committed stays so,
// whatever an answer of it shows: a node that has committed answers in the old list if the ping used that list.
func (r *roll) note(m *Machine, msg *incoming) {
	if r.other == nil || msg.Flags&(wire.FlagParams|wire.FlagStaged) == 0 {
		return
	}
	next := r.newer(m).Digest()
	state := RollUnstaged
	switch {
	case msg.Flags&wire.FlagStaged != 0 && msg.Staged == next:
		state = RollStaged
	case msg.Flags&wire.FlagStaged != 0:
		state = RollOther
	case msg.Digest == next:
		state = RollCommitted
	}
	if msg.ping || r.seen[msg.from] != RollCommitted {
		r.seen[msg.from] = state
	}
}

// commit changes to the staged list, and keeps what is known of the participants in both lists.
func (m *Machine) commit(out *Output) {
	r := &m.roll
	switch {
	case !r.staged():
		m.stats.BadStages++
		return
	case r.self < 0:
		m.left = true
		m.stop(Event{Kind: Left}, out)
		return
	}
	old, f := *m, r.other
	m.list, m.self = f.list, r.self
	m.limits, _ = m.cfg.Limits(m.list.Len()) // cannot fail: stage has checked the number of participants
	m.ages = newAgeVector(m.list.Len())
	copy(m.ages.bytes, f.render(old.ages).bytes)
	m.health.init(m.list.Len(), m.list.Len(), choose(m.cfg.Quorum, 50))
	m.health.quorum = old.health.quorum
	if old.trace != nil {
		m.trace = make([]heard, m.list.Len())
	}
	m.clock.lost(m.cycle)
	back := newForeign(old.list, m.list)
	for i, k := range back.ours {
		m.carry(&old, i, int(k), out)
	}
	for k, i := range f.ours {
		if i < 0 {
			m.joins(f, k)
		}
	}
	m.roll.other, m.roll.committed, m.roll.since = back, true, m.cycle
	m.rejuvenate()
	m.health.changed = true
}

// joins takes over what this node has heard of participant k of the list f, which is new on it.
func (m *Machine) joins(f *foreign, k int) {
	id := m.list.NID(k)
	m.health.joins(id, k)
	m.ages.bytes[k] = f.ageOf(id, m.ran(), m.limits.Again)
}

// carry copies the state of participant i of the old list to participant k of the new one; k is
// -1 for a participant that leaves.
func (m *Machine) carry(old *Machine, i, k int, out *Output) {
	died, alive := old.health.died[i], old.health.is(i)
	switch {
	case k < 0 && alive:
		died++
		m.tell(out, Event{Kind: Died, NID: old.list.NID(i), Aliveness: died})
		m.health.leaves(old.list.NID(i), died)
		return
	case k < 0:
		m.health.leaves(old.list.NID(i), died)
		return
	}
	if died > 0 {
		m.health.died[k] = died
	}
	if _, reported := old.health.diedAt[i]; reported {
		m.health.reported(k, m.cycle)
	}
	if alive {
		m.health.alive[k/lanes] |= 1 << (k % lanes)
		m.health.count++
	}
	if m.trace != nil {
		m.trace[k] = old.trace[i]
	}
}

// tick begins a cycle. It forgets the old list when all live participants have committed and no
// message that uses the old list has come for long enough.
func (r *roll) tick(m *Machine) {
	if r.other == nil || !r.committed || m.cycle-r.since <= uint64(m.limits.Dead) {
		return
	}
	for i := range m.list.Len() {
		if i != m.self && m.health.is(i) && r.seen[m.list.NID(i)] != RollCommitted {
			return
		}
	}
	*r = roll{}
}
