package engine

import (
	"slices"

	"ulnet/gossip/zone/wire"
	"ulnet/lnet/machine"
)

// register sends the supervisor a registration: the size and the hash of the zone's view. The
// active delegate also sends the members that joined and left since its last registration
// (MS-97).
func (d *delegation) register(m *Machine) {
	if !d.chosen.IsValid() {
		d.due = machine.Never
		return
	}
	if len(d.left) > 0 { // the supervisor removes the members that left before it adds those that joined, so it would add a member that joined and left
		d.joined = slices.DeleteFunc(d.joined, func(n wire.Named) bool { return !m.view.has(m.cfg.Table.Lookup(n.ID)) })
	}
	r := &wire.Dispatch{
		Kind: wire.Register, Zone: m.cfg.Zone, Activation: d.own, Registration: d.registration,
		Size: uint32(m.view.members), Hash: m.view.hash, Known: d.known, Joined: d.joined, Left: d.left,
	}
	if d.own > 0 && d.whole.take(m) {
		r.Flags, r.Joined, r.Left = wire.Whole, m.members(), nil
	}
	d.joined, d.left, d.untold = nil, nil, false
	d.due, d.changes = m.now+m.cfg.Heartbeat, m.now+m.cfg.Aggregation
	m.dispatch(d.chosen, r, d.own > 0 && r.Flags&wire.Whole == 0) // a registration with all members of the zone has no priority, because it would delay alarms
}

// unregister ends the registration with the supervisor. A delegate that moves to another
// supervisor sends the number of its registration. By that number the old supervisor sees that
// the zone has not ended.
func (d *delegation) unregister(m *Machine, moves bool) {
	if !d.chosen.IsValid() {
		return
	}
	u := &wire.Dispatch{Kind: wire.Unregister, Zone: m.cfg.Zone}
	if moves {
		u.Registration = d.registration
	}
	m.dispatch(d.chosen, u, false)
	d.take(m, wire.ID{})
}

// members returns the members of the view in the form for other zones.
func (m *Machine) members() []wire.Named {
	list := make([]wire.Named, 0, m.view.members)
	m.Each(func(p wire.Ref, v wire.Version) { list = append(list, wire.Named{ID: m.cfg.Table.ID(p), Version: v}) })
	return list
}

// registered processes a supervisor's answer.
func (d *delegation) registered(m *Machine, r *wire.Dispatch) {
	switch {
	case r.From != d.chosen && r.From != d.candidate: // the answer comes from an earlier supervisor, or is forged
		m.stats.StrayDispatches++
		return
	case !d.believes(m, r.From):
		m.stats.OtherNID++
		return
	case r.Flags&wire.NoRoom != 0:
		d.giveUp(m, r.From, Full)
		return
	case r.From == d.candidate:
		d.reached(m, r.From)
		d.unregister(m, true)
		d.take(m, r.From)
		return
	}
	switch {
	case len(r.Joined) == 0:
	case r.Flags&wire.Continues == 0:
		d.known = r.Known
		d.know(m, r.Joined)
	case len(d.supervisors) < m.cfg.MaxMembers:
		d.know(m, append(slices.Clone(d.supervisors), r.Joined...))
	}
	d.heard, d.probing = m.now, false
	d.reached(m, r.From)
	d.announce(m)
	d.outnumber(m, r.Activation)
	d.taken(m, r)
	if d.own > 0 && d.whole.answered(m, r.Flags&wire.Want != 0) {
		d.due = min(d.due, max(m.now, d.whole.sent+d.whole.wait))
	}
}

// outnumber makes sure that this delegate's activation is above the highest one that the
// supervisor knows. If a former delegate died before its zone learned of its activation, this
// delegate may have chosen a number that is not higher.
func (d *delegation) outnumber(m *Machine, activation uint64) {
	if activation == 0 || activation >= maxActivation {
		return
	}
	d.highest = max(d.highest, activation)
	if d.own > 0 && d.own <= activation && activation < maxActivation-1 {
		d.activate()
		d.publish(m)
	}
}

// lost handles a failed message or connection to a supervisor. After the second failure in a
// row the delegate chooses another supervisor (MS-100).
func (d *delegation) lost(m *Machine, peer wire.ID) {
	switch {
	case !peer.IsValid():
	case peer == d.candidate:
		d.giveUp(m, peer, Unreachable)
	case peer != d.chosen:
	case !d.probing:
		d.probing, d.due = true, m.now
	default:
		d.giveUp(m, peer, Unreachable)
	}
}

// alarm passes a suspicion on to the supervisor, if this node is the active delegate (MS-101,
// MS-A32).
func (d *delegation) alarm(m *Machine, s *wire.Suspicion) {
	if d.own == 0 || !d.chosen.IsValid() {
		return
	}
	m.dispatch(d.chosen, &wire.Dispatch{
		Kind: wire.Alarm, Zone: m.cfg.Zone, Activation: d.own, Reporters: uint32(len(m.suspicions.on(s.Suspect))),
		About: m.cfg.Table.ID(s.Suspect), AboutVersion: s.Version,
	}, true)
}
