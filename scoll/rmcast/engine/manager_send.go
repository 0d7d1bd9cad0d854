package engine

import (
	"slices"

	"ulnet/lnet/machine"
	"ulnet/scoll/rmcast/wire"
)

func (g *Manager) state(kind wire.OrderKind) wire.Order {
	return wire.Order{Kind: kind, Group: g.cfg.Group, Epoch: g.epoch, Version: g.version, Usable: g.usable, Oldest: g.free}
}

// list makes a list of the members, except those that wait for their first list.
func (g *Manager) list() wire.Order {
	o := g.state(wire.OrderList)
	mtu, capacity := g.cfg.Fragment, 0
	for _, m := range g.members {
		if !m.listed {
			continue
		}
		o.Members = append(o.Members, m.Member)
		if m.mtu-wire.HeaderSize < g.leastFragment() {
			o.Flags |= wire.OrderTree
		} else {
			mtu = min(mtu, m.mtu-wire.HeaderSize)
		}
		if m.capacity > 0 && (capacity == 0 || m.capacity < capacity) {
			capacity = m.capacity
		}
	}
	if o.Flags&wire.OrderTree != 0 {
		mtu = g.cfg.Fragment
	}
	o.Departed, o.Silent = g.gone()
	o.Voters, o.Of = g.base.next, uint16(len(g.base.voters()))
	o.MTU, o.Capacity, o.Window, o.Next = uint32(mtu), uint32(capacity), uint32(g.cfg.Window), g.next
	return o
}

// gone lists the failed members and, after them, those that failed because they were silent: first the voters among
// these, which the next manager counts, and then the others. It also returns the number of silent ones.
func (g *Manager) gone() (ids []wire.ID, silent uint16) {
	var others []wire.ID
	voters, silentVoters := g.base.voters(), []wire.ID(nil)
	for _, d := range g.departed {
		switch {
		case !d.silent:
			ids = append(ids, d.id)
		case voters[d.id]:
			silentVoters = append(silentVoters, d.id)
		default:
			others = append(others, d.id)
		}
	}
	return slices.Concat(ids, silentVoters, others), uint16(len(silentVoters) + len(others))
}

// leastFragment is the least payload of a multicast datagram, in bytes. A member that can
// receive only less counts as one without multicast, because it would force very small
// datagrams on all others.
func (g *Manager) leastFragment() int { return max(1, min(256, g.cfg.Fragment/16)) }

// published returns the latest list, with the current state of versions.
func (g *Manager) published() wire.Order {
	o := g.latest
	o.Usable, o.Oldest, o.Next = g.usable, g.free, g.next
	return o
}

// sendList sends a member the latest list, if the member is on that list and it is certain that the node has no
// new member with the same ID.
func (g *Manager) sendList(m *managed) {
	if !m.listed {
		return
	}
	if m.sentAt = g.now; m.rejoinsAt != 0 {
		return
	}
	o := g.published()
	o.You, o.Incarnation = m.Number, m.Incarnation
	if slices.Contains(g.leavers, m) {
		o.You = 0
	}
	g.out.shared(m.NID, &o, g.lists)
}

// sendListAgain sends a member the latest list again, unless it was sent within Resend: a member can report as often as
// it likes that it lacks the list, which is much longer than the report.
func (g *Manager) sendListAgain(m *managed) {
	if m.sentAt+g.cfg.Resend <= g.now {
		g.sendList(m)
	}
}

func (g *Manager) sendState(m *managed) {
	o := g.state(wire.OrderState)
	o.Incarnation = m.Incarnation
	g.out.order(m.NID, &o)
}

// expel tells a node that it is not a member.
func (g *Manager) expel(id wire.ID) {
	o := g.state(wire.OrderExpelled)
	o.Incarnation = id.Incarnation
	g.out.refusal(id.NID, &o, false)
}

// tellRivals tells the other managers that this one is active, with the latest list if list is
// true.
func (g *Manager) tellRivals(list bool) {
	g.beatAt = machine.Never
	if len(g.cfg.Managers) < 2 {
		return
	}
	g.beatAt = g.now + g.cfg.Heartbeat
	o := g.state(wire.OrderState)
	if list && g.version.IsValid() {
		o = g.published()
	}
	o.Flags, o.Of = o.Flags|wire.OrderReplica, uint16(g.hears(noMember))
	for _, id := range g.cfg.Managers {
		if id != g.cfg.Self {
			g.out.order(id, &o)
		}
	}
}
