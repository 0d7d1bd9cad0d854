package engine

import (
	"cmp"
	"slices"
	"time"

	"ulnet/gossip/zone/wire"
)

// guarded is a base zone that this supervisor guards.
type guarded struct {
	name      string
	delegates []registered // registered delegates in order of precedence
	members   map[wire.ID]wire.Version
	hash      uint64 // hash of members
	reported  uint64 // hash of all members of the zone, as the active delegate last reported it
	published CensusEntry
	highest   uint64        // highest activation number of any delegate
	holder    wire.ID       // the first delegate whose activation had the number highest
	due       time.Duration // deadline after which a silent delegate is given up
	active    time.Duration // when a message of an active delegate last arrived
	aged      time.Duration // when the stale entry was last written
	parted    bool          // the active delegate has unregistered, and the entry is not stale yet
	rivals    rivals
}

// registered is a delegate that has registered.
type registered struct {
	wire.Named
	speaker
	activation, registration uint64
	size                     uint32
	hash                     uint64
	heard                    time.Duration
}

// admit adds a delegate that registers, or removes one that says goodbye. The result ok is
// false if there is no room. The result late is true if the message is from an earlier incarnation, or is the goodbye of a
// node that is not registered. A late message changes nothing. The exception is a registration that is the first message
// from a NID of the delegate: it counts whatever its incarnation.
func (g *guarded) admit(d *wire.Dispatch, by speaker, now time.Duration) (ok, late bool) {
	i := slices.IndexFunc(g.delegates, func(r registered) bool { return r.ID == d.From })
	switch {
	case i >= 0 && d.Version.Inc < g.delegates[i].Version.Inc && (d.Kind != wire.Register || by.proven == g.delegates[i].proven):
		return false, true
	case i >= 0:
		g.parted = g.parted || d.Kind != wire.Register && d.From == g.published.Delegate
		g.delegates = slices.Delete(g.delegates, i, i+1)
	case d.Kind != wire.Register:
		return false, true
	case len(g.delegates) >= maxDelegates && d.Activation > g.delegates[maxDelegates-1].activation:
		g.delegates = g.delegates[:maxDelegates-1]
	case len(g.delegates) >= maxDelegates:
		return false, false
	}
	if d.Kind == wire.Register {
		g.delegates = append(g.delegates, registered{wire.Named{ID: d.From, Version: d.Version}, by, d.Activation, d.Registration, d.Size, d.Hash, now})
		if d.Activation > g.highest {
			g.highest, g.holder = d.Activation, d.From
		}
	}
	slices.SortStableFunc(g.delegates, func(a, b registered) int {
		return cmp.Or(cmp.Compare(b.activation, a.activation), cmp.Compare(b.registration, a.registration), a.ID.Compare(b.ID))
	})
	return true, false
}

// change applies the changes of the zone's membership that the active delegate reports. It also
// removes the delegates that have left the zone.
func (g *guarded) change(m *Machine, d *wire.Dispatch) {
	g.reported = d.Hash
	if d.Flags&wire.Whole != 0 && d.Flags&wire.Continues == 0 {
		clear(g.members)
		g.hash = 0
	}
	for _, n := range d.Left {
		g.set(n.ID, wire.Version{})
	}
	room := m.cfg.MaxMembers
	if len(d.Joined) > 0 {
		room = g.room(m)
	}
	for _, n := range d.Joined {
		if len(g.members) >= room {
			m.stats.ViewFull++
			break
		}
		g.set(n.ID, n.Version)
	}
	if g.hash == d.Hash {
		g.delegates = slices.DeleteFunc(g.delegates, func(r registered) bool {
			return g.members[r.ID].Inc < r.Version.Inc && r.ID != d.From
		})
	}
}

// room returns how many members of the zone this supervisor can keep. If the zone has more, the supervisor knows
// only some of them.
func (g *guarded) room(m *Machine) int {
	return min(m.cfg.MaxMembers, m.supervisor.most-m.supervisor.members(g))
}

// size returns the size of the zone for answers to queries. If this supervisor knows all members, that is their number.
// Otherwise size returns more than the number of members that it knows: a query ends without an error once as many
// members have come as size says. The supervisor does not know all members if it has no room for them, or if a message
// was lost or is still on its way. In the latter case its list may have former members, so that it is as long as the
// right one.
func (g *guarded) size() int {
	if g.hash == g.reported {
		return len(g.members)
	}
	return max(len(g.members)+1, g.published.Size)
}

// set sets the version of a member; the zero version removes the member.
func (g *guarded) set(id wire.ID, v wire.Version) {
	if old, ok := g.members[id]; ok {
		g.hash ^= mix(id.Short(), old.Inc)
		delete(g.members, id)
	}
	if v.IsValid() {
		g.hash ^= mix(id.Short(), v.Inc)
		g.members[id] = v
	}
}

// has reports whether a node is a registered delegate.
func (g *guarded) has(id wire.ID) bool {
	return slices.ContainsFunc(g.delegates, func(r registered) bool { return r.ID == id })
}

// own returns how many delegates the zone has in the view of its active delegate: the active one, and those
// that are members according to its reports.
func (g *guarded) own() (n int) {
	for i := range g.delegates {
		if _, ok := g.members[g.delegates[i].ID]; ok || i == 0 {
			n++
		}
	}
	return n
}

// drop removes a delegate.
func (g *guarded) drop(id wire.ID) {
	g.delegates = slices.DeleteFunc(g.delegates, func(r registered) bool { return r.ID == id })
}

// list returns the members of the zone, sorted by id.
func (g *guarded) list() []wire.Named {
	list := make([]wire.Named, 0, len(g.members))
	for id, v := range g.members { // any order: sorted below
		list = append(list, wire.Named{ID: id, Version: v})
	}
	slices.SortFunc(list, func(a, b wire.Named) int { return a.ID.Compare(b.ID) })
	return list
}
