package engine

import (
	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/wire"
)

// outranked answers an order of a manager whose epoch is not the highest that this
// member knows: there may be two managers. The one with the higher epoch is heard all
// the time, or has died; then this member would refuse the other one for ever. So after
// HealAfter it ends, and joins as another member, unless it can return.
func (m *Machine) outranked(from nid.NID, o *wire.Order) {
	if m.now-m.orderAt >= m.cfg.HealAfter {
		m.stats.Healed++
		m.epoch, m.manager = 0, nid.NID{}
		m.end(m.reason())
		return
	}
	if from == m.outrankedBy && m.now < m.outrankedAt+m.cfg.ReportInterval/8 && m.outrankedAt > 0 {
		return // it answers each report
	}
	m.outrankedBy, m.outrankedAt = from, m.now
	m.sendReport(from, max(m.epoch, o.Epoch+1)) // of two with one epoch neither keeps it
}

// refuse tells a manager that its epoch is too far above the clock, and now and then
// the user.
func (m *Machine) refuse(from nid.NID, o *wire.Order) {
	m.complaints.refused(m.now, m.out, from, wire.RefusedAhead)
	r := wire.Order{Kind: wire.OrderRefused, Flags: wire.OrderReplica, Group: m.cfg.Group, You: uint32(wire.RefusedAhead), Epoch: m.epoch, Incarnation: o.Incarnation}
	m.out.order(from, &r)
}

// denied takes word of a manager that it refuses what this node says.
func (m *Machine) denied(from nid.NID, o *wire.Order) {
	if o.Incarnation != m.self.Incarnation {
		return
	}
	m.stats.Denied++
	before := m.refusal
	if m.refusal = refusal(wire.Refusal(o.You)); before == nil || before.Error() != m.refusal.Error() {
		m.emit(Effect{Kind: Denied, To: from, Why: m.refusal})
	}
}

// returns reports whether the promise lapses that this member has made to a manager that
// collected what members know: to refuse earlier managers. A new manager gives members a list
// soon after that, or never; so after HealAfter without one this member obeys the manager
// again whose list it has.
func (m *Machine) returns(o *wire.Order) bool {
	latest := m.group.latest()
	if latest == nil || latest.version.Epoch != o.Epoch || o.Epoch == m.epoch || m.now-m.orderAt < m.cfg.HealAfter {
		return false
	}
	m.stats.Returned++
	return true
}

// canvassed tells a manager that would take over what this member knows, and whether it may:
// not while another one speaks (pre-vote). It promises nothing by that, so that a manager
// that cannot reach most members changes nothing.
func (m *Machine) canvassed(from nid.NID, o *wire.Order) {
	if m.state != member && m.state != leaving {
		return
	}
	m.stats.Canvassed++
	silent := m.now-m.orderAt >= sticks*m.cfg.ReportInterval
	dead := o.Flags&wire.OrderDead != 0 && o.Epoch >= m.epoch
	var may uint32
	if silent || dead || from == m.manager || !m.manager.IsValid() {
		may = 1
	}
	m.known(from, wire.OrderVote, may)
}
