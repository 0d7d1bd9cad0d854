package engine

import (
	"errors"
	"slices"

	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/wire"
)

// instructed handles a message of a manager.
func (m *Machine) instructed(from nid.NID, b []byte) {
	if len(b) > wire.OrderSize && !slices.Contains(m.cfg.Managers, from) { // only an order with lists is longer than OrderSize: it is not even parsed unless a manager sent it
		if !slices.Contains(m.cfg.Managers, m.cfg.Self) {
			m.stats.Stranger++
		}
		return
	}
	o, err := wire.ParseOrder(b)
	switch {
	case errors.Is(err, wire.ErrVersion):
		m.otherManager(from, b)
		return
	case err != nil:
		m.stats.Malformed++
		return
	case o.Group != m.cfg.Group:
		m.stats.OtherGroup++
		return
	case (o.Kind <= wire.OrderKnown || o.Flags&wire.OrderReplica != 0) && slices.Contains(m.cfg.Managers, m.cfg.Self):
		return // the message is for the manager on this node
	case !slices.Contains(m.cfg.Managers, from):
		m.stats.Stranger++
		return
	case o.Kind <= wire.OrderKnown || o.Flags&wire.OrderReplica != 0:
		return
	case o.Kind == wire.OrderRefused:
		m.denied(from, &o)
		return
	case m.wall.isAhead(o.Epoch, m.now):
		m.stats.Ahead++
		m.refuse(from, &o)
		return
	case m.state == out && o.Incarnation < m.self.Incarnation:
		m.sendReport(from, m.epoch) // the order is for an earlier incarnation: tell the manager that it has ended
		return
	case m.state == out || o.Incarnation != m.self.Incarnation && o.Kind != wire.OrderCollect && o.Kind != wire.OrderCanvass:
		return
	case o.Kind == wire.OrderCanvass:
		m.canvassed(from, &o)
		return
	case (o.Epoch < m.epoch || o.Epoch == m.epoch && m.manager.IsValid() && from != m.manager) && !m.returns(&o):
		m.stats.Refused++
		m.outranked(from, &o)
		return
	case !o.Agrees():
		m.stats.Malformed++
		return
	}
	m.epoch, m.manager, m.unanswered, m.orderAt, m.refusal = o.Epoch, from, 0, m.now, nil
	switch o.Kind {
	case wire.OrderList:
		m.list(&o)
	case wire.OrderState:
		m.stated(&o)
	case wire.OrderCollect:
		m.known(from, 0, 0)
	case wire.OrderExpelled:
		m.expelled()
	}
}

// expelled handles the manager's order that says that there is no member with this ID, or none any more. If this node
// has not had a list, it has not been a member: the ID is that of a former member, so the node joins with another one.
func (m *Machine) expelled() {
	if m.state != joining {
		m.end(m.reason())
		m.untold = true
		return
	}
	m.self.Incarnation++
	m.report()
}

// reason returns the error with which this node ceases to be a member.
func (m *Machine) reason() error {
	s := m.sender.stream
	switch {
	case m.state != leaving:
		return ErrExpelled
	case s != nil && s.stable < s.head: // messages of this node are in flight
		return ErrUnfinished
	}
	return ErrLeft
}

// list handles a list of members.
func (m *Machine) list(o *wire.Order) {
	if latest := m.group.latest(); latest == nil || o.Version.Compare(latest.version) > 0 {
		if o.Window == 0 || o.Window > MaxWindow || o.MTU == 0 || o.MTU > MaxFragment {
			m.stats.Malformed++
			return
		}
		if !m.install(o) {
			return
		}
	}
	m.asking = false
	m.stated(o)
	if m.state != out {
		m.report()
	}
}

// install makes a list the newest one. It reports whether this node still takes part.
func (m *Machine) install(o *wire.Order) bool {
	mine := slices.ContainsFunc(o.Members, func(e wire.Member) bool { return e.ID == m.self })
	over := slices.Contains(o.Departed, m.self)
	if !mine && m.state != leaving || over {
		if m.state != joining || over {
			m.end(m.reason())
		}
		return false
	}
	if m.group.forget(o.Oldest); m.group.revives(o) {
		m.end(m.reason())
		m.untold = true
		return false
	}
	m.group.add(o, m.self)
	if m.state == joining {
		m.state = member
	}
	m.depart(o.Departed, len(o.Departed)-int(o.Silent))
	m.emit(Effect{Kind: Changed, Version: o.Version})
	m.unhold()
	return true
}

// depart marks members as failed: their messages end, and others adopt their children (RM-A8).
// The members ids[silent:] were only silent, and may be alive.
func (m *Machine) depart(ids []wire.ID, silent int) {
	news := false
	for i, id := range ids {
		p := m.group.byID[id]
		if p == nil || p.dead {
			continue
		}
		p.dead, p.silent, news = true, i >= silent, true
		for _, r := range m.group.rosters {
			if r.has(p) {
				r.failed++
			}
		}
		if p.stream != nil {
			m.drop(p.stream)
		}
	}
	if !news {
		return
	}
	for _, s := range m.streams {
		if s.roster != nil {
			s.rewire()
		}
	}
}

// drop forgets a stream.
func (m *Machine) drop(s *stream) {
	s.forgetAll()
	s.origin.stream = nil
	m.streams = slices.DeleteFunc(m.streams, func(t *stream) bool { return t == s })
	m.touched = slices.DeleteFunc(m.touched, func(t *stream) bool { return t == s })
	m.delayed = slices.DeleteFunc(m.delayed, func(t *stream) bool { return t == s })
}

// stated applies what an order says of the versions of the list: which ones may be used, and which
// ones are obsolete (RM-A7).
func (m *Machine) stated(o *wire.Order) {
	if o.Usable.Compare(m.usable) > 0 {
		m.usable = o.Usable
	}
	m.trySwitch()
	m.group.forget(o.Oldest)
	for i := len(m.streams) - 1; i >= 0; i-- {
		if s := m.streams[i]; s != m.sender.stream {
			m.outlive(s, o.Oldest)
		}
	}
	if m.state == leaving && !slices.ContainsFunc(m.group.rosters, func(r *roster) bool { return r.self >= 0 }) {
		m.end(ErrLeft)
	}
}

// outlive ends a stream's messages of obsolete versions: all of them are released.
func (m *Machine) outlive(s *stream, oldest wire.Version) {
	switch {
	case !slices.ContainsFunc(m.group.rosters, func(r *roster) bool { return r.has(s.origin) }):
		m.drop(s) // the origin has left the group
	case s.roster == nil || s.roster.version.Compare(oldest) >= 0:
	case s.next == s.head:
		s.freeTo(s.head)
	default:
		m.stats.LeftOut++
		m.drop(s)
	}
}
