package zone

import (
	"slices"

	"ulnet/lnet/machine"
)

// choose takes the supervisor that a hash of zone and supervisor says: all delegates
// of a zone take the same one (MS-A24).
func (d *delegation) choose(m *Machine) {
	d.avoided = slices.DeleteFunc(d.avoided, func(a avoided) bool { return m.now >= a.until })
	var best ID
	var most uint64
	for i := range d.supervisors {
		s := &d.supervisors[i]
		shunned := slices.ContainsFunc(d.avoided, func(a avoided) bool { return a.ID == s.ID && s.Version.Inc <= a.Version.Inc })
		if n := vote(s.ID, m.cfg.Zone); !shunned && (n > most || !best.IsValid()) {
			best, most = s.ID, n
		}
	}
	if best == d.chosen {
		return
	}
	if d.chosen.IsValid() {
		d.unregister(m)
	}
	d.chosen, d.heard, d.due = best, max(m.now, d.pause), machine.Never
	if best.IsValid() {
		d.registration++
		d.whole, d.due = d.own > 0, max(m.now, d.pause)
	}
}

// avoid gives up a supervisor that does not answer.
func (d *delegation) avoid(m *Machine) {
	i := slices.IndexFunc(d.supervisors, func(n Named) bool { return n.ID == d.chosen })
	if i >= 0 {
		d.avoided = append(d.avoided, avoided{d.supervisors[i], m.now + avoidance})
	}
	if len(d.avoided) >= len(d.supervisors) { // none is left: all over again
		d.avoided, d.pause = nil, m.now+m.cfg.Heartbeat
		for _, id := range m.cfg.Management {
			if !slices.ContainsFunc(d.supervisors, func(n Named) bool { return n.ID == id }) {
				d.supervisors = append(d.supervisors, Named{ID: id})
			}
		}
	}
	m.stats.SupervisorsLost++
	d.chosen, d.probing, d.due = ID{}, false, machine.Never
}

// register tells the supervisor how the zone is, and of the active delegate what
// changed there (MS-97).
func (d *delegation) register(m *Machine) {
	if !d.chosen.IsValid() {
		d.due = machine.Never
		return
	}
	r := &Dispatch{
		Kind: Register, Zone: m.cfg.Zone, Activation: d.own, Registration: d.registration,
		Size: uint32(m.view.members), Hash: m.view.hash, Known: d.known, Joined: d.joined, Left: d.left,
	}
	if d.own > 0 && d.whole {
		r.Flags, r.Joined, r.Left = Whole, m.members(), nil
	}
	d.joined, d.left, d.whole, d.untold = nil, nil, false, false
	d.due, d.changes = m.now+m.cfg.Heartbeat, m.now+m.cfg.Aggregation
	m.dispatch(d.chosen, r, d.own > 0 && r.Flags&Whole == 0) // a whole zone would hold up alarms
}

func (d *delegation) unregister(m *Machine) {
	if d.chosen.IsValid() {
		m.dispatch(d.chosen, &Dispatch{Kind: Unregister, Zone: m.cfg.Zone}, false)
		d.chosen, d.due = ID{}, machine.Never
	}
}

// members returns the view for another zone.
func (m *Machine) members() []Named {
	list := make([]Named, 0, m.view.members)
	m.Each(func(p Ref, v Version) { list = append(list, Named{m.cfg.Table.ID(p), v}) })
	return list
}

// registered takes note of a supervisor's answer.
func (d *delegation) registered(m *Machine, r *Dispatch) {
	if r.From != d.chosen { // an earlier one's, or nobody's
		m.stats.StrayDispatches++
		return
	}
	switch {
	case len(r.Joined) == 0:
	case r.Flags&Continues == 0:
		d.supervisors, d.known = r.Joined, r.Known
	case len(d.supervisors) < m.cfg.MaxMembers:
		d.supervisors = append(slices.Clone(d.supervisors), r.Joined...)
	}
	d.heard, d.probing = m.now, false
	d.outnumber(m, r.Activation)
	d.taken(m, r)
	if r.Flags&Want != 0 && d.own > 0 {
		d.whole, d.due = true, m.now
	}
}

// outnumber takes a number above an activation that the supervisor knows of a delegate
// that it has no more: that one may have died before the zone knew that it was active,
// and this one count for no later.
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

// lost is told that a message to a supervisor failed, or its connection: the second
// time another one is chosen (MS-100).
func (d *delegation) lost(m *Machine, peer ID) {
	switch {
	case peer != d.chosen:
	case !d.probing:
		d.probing, d.due = true, m.now
	default:
		d.avoid(m)
	}
}

// alarm lets the active delegate pass suspicions on (MS-101, MS-A32).
func (d *delegation) alarm(m *Machine, s *Suspicion) {
	if d.own == 0 || !d.chosen.IsValid() {
		return
	}
	m.dispatch(d.chosen, &Dispatch{
		Kind: Alarm, Zone: m.cfg.Zone, Activation: d.own, Reporters: uint32(len(m.suspicions.on(s.Suspect))),
		About: m.cfg.Table.ID(s.Suspect), AboutVersion: s.Version,
	}, true)
}
