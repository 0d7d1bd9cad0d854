package gossip

import "ulnet/lnet/nid"

// roll is a change of the list of participants while the cluster runs
// (GO-A21): a node that has staged the new list understands both, a node that
// has committed speaks the new one and still understands the old.
type roll struct {
	other     *foreign    // nil: no change is under way
	committed bool        // then other is the old list
	self      int         // our index in the new list, -1 if we are not in it
	seen      []rollState // by index of the new list, as told by direct messages
	since     uint64      // own cycle in which the old list was last spoken, once committed
}

type rollState uint8

const (
	rollUnknown rollState = iota
	rollStaged
	rollCommitted
)

// foreign is a list that is not the one we speak, and how the two relate.
type foreign struct {
	list   *List
	ours   []int32   // its index to our index, -1 if we do not have it
	vector AgeVector // scratch in our order
	theirs AgeVector // scratch in its order
}

func newForeign(list, ours *List) *foreign {
	f := &foreign{list: list, ours: make([]int32, list.Len())}
	for i := range f.ours {
		f.ours[i] = int32(ours.Index(list.NID(i)))
	}
	f.vector, f.theirs = newAgeVector(ours.Len()), newAgeVector(list.Len())
	return f
}

func (f *foreign) toOurs(i int) int { return int(f.ours[i]) }

// translate puts a vector of its order into ours; valid until the next call.
func (f *foreign) translate(theirs []byte) []byte {
	f.vector.forget()
	for i, age := range theirs {
		if k := f.ours[i]; k >= 0 {
			f.vector.bytes[k] = age
		}
	}
	return f.vector.Bytes()
}

// render puts our vector into its order; valid until the next call.
func (f *foreign) render(ours AgeVector) AgeVector {
	f.theirs.forget()
	for i, k := range f.ours {
		if k >= 0 {
			f.theirs.bytes[i] = ours.bytes[k]
		}
	}
	return f.theirs
}

// stage begins a change, or replaces the one that was staged. After a commit
// there is none to replace until all have committed.
func (r *roll) stage(m *Machine, in Input) {
	if r.committed || m.cfg.Columns > 0 || in.List.Digest() == m.list.Digest() || !m.fits(in.List) {
		m.stats.BadStages++
		return
	}
	*r = roll{other: newForeign(in.List, m.list), self: in.Self, seen: make([]rollState, in.List.Len())}
}

// fits reports whether the limits work for a list.
func (m *Machine) fits(l *List) bool {
	_, err := m.cfg.Limits(l.Len())
	return err == nil
}

func (r *roll) staged() bool { return r.other != nil && !r.committed }

// index is the index of a NID in the other list, or -1.
func (r *roll) index(id nid.NID) int {
	if r.other == nil {
		return -1
	}
	return r.other.list.Index(id)
}

// note takes down how far the sender of a message is.
func (r *roll) note(m *Machine, msg *incoming) {
	if r.other == nil {
		return
	}
	next := r.other.list
	if r.committed {
		next = m.list
	}
	i := next.Index(msg.from)
	switch {
	case i < 0:
	case msg.Flags&FlagParams != 0 && msg.Digest == next.Digest():
		r.seen[i] = rollCommitted
	case msg.Flags&FlagStaged != 0 && msg.Staged == next.Digest():
		r.seen[i] = rollStaged
	}
}

// commit changes to the staged list. What is known of those in both goes along.
func (m *Machine) commit(out *Output) {
	r := &m.roll
	if !r.staged() {
		m.stats.BadStages++
		return
	}
	if r.self < 0 {
		m.stopped = true
		m.tell(out, Event{Kind: Stopped})
		return
	}
	old, f := *m, r.other
	m.list, m.self = f.list, r.self
	m.limits, _ = m.cfg.Limits(m.list.Len()) // stage checked it
	m.ages = newAgeVector(m.list.Len())
	copy(m.ages.bytes, f.render(old.ages).bytes)
	m.health.init(m.list.Len(), m.list.Len(), choose(m.cfg.Quorum, 50))
	m.health.quorum = old.health.quorum
	if old.trace != nil {
		m.trace = make([]heard, m.list.Len())
	}
	m.clock.lost()
	back := newForeign(old.list, m.list)
	for i, k := range back.ours {
		m.carry(&old, i, int(k), out)
	}
	m.roll.other, m.roll.committed, m.roll.since = back, true, m.cycle
	m.roll.seen[m.self] = rollCommitted
	m.rejuvenate()
	m.health.changed = true
}

// carry takes participant i of the old list over as participant k, or drops
// it for -1.
func (m *Machine) carry(old *Machine, i, k int, out *Output) {
	died, alive := old.health.died[i], old.health.is(i)
	switch {
	case k < 0 && alive:
		m.tell(out, Event{Kind: Died, NID: old.list.NID(i), Aliveness: died + 1})
		return
	case k < 0:
		return
	}
	if died > 0 {
		m.health.died[k] = died
	}
	if alive {
		m.health.alive[k/lanes] |= 1 << (k % lanes)
	}
}

// tick begins a cycle. The old list is forgotten when all who are alive have
// committed, and nobody has spoken it for long enough.
func (r *roll) tick(m *Machine) {
	if r.other == nil || !r.committed || m.cycle-r.since <= uint64(m.limits.Dead) {
		return
	}
	for i, state := range r.seen {
		if state != rollCommitted && m.health.is(i) {
			return
		}
	}
	*r = roll{}
}

// cancel gives up a change that was staged, not one that was committed.
func (r *roll) cancel(m *Machine) {
	if r.committed {
		m.stats.BadStages++
		return
	}
	*r = roll{}
}
