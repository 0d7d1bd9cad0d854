package engine

import (
	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/wire"
)

// outranked handles an order that this member refuses, because its epoch is lower than the highest one that this
// member knows, or because another manager has the same epoch. Either two managers are active, or the manager with the
// higher epoch has died, and this member would refuse the remaining one forever. So if the manager that this member
// obeys is silent for HealAfter, this member ends and joins as a new member. Until then it answers with a report.
func (m *Machine) outranked(from nid.NID, o *wire.Order) {
	if m.now-m.orderAt >= m.cfg.HealAfter {
		m.stats.Healed++
		m.epoch, m.manager = 0, nid.NID{}
		m.end(m.reason())
		m.untold = true
		return
	}
	if from == m.outrankedBy && m.now < m.outrankedAt+m.cfg.ReportInterval/8 && m.outrankedAt > 0 {
		return // that manager got a report a moment ago, and will answer it
	}
	m.outrankedBy, m.outrankedAt = from, m.now
	m.sendReport(from, max(m.epoch, o.Epoch+1)) // if both managers have the same epoch, report a higher one, so that neither keeps its epoch
}

// refuse tells a manager that its epoch is too far above the wall clock. It also
// emits [Refused] for the user, at a limited rate.
func (m *Machine) refuse(from nid.NID, o *wire.Order) {
	m.complaints.refused(m.now, m.out, from, wire.RefusedAhead)
	r := wire.Order{Kind: wire.OrderRefused, Flags: wire.OrderReplica, Group: m.cfg.Group, You: uint32(wire.RefusedAhead), Epoch: m.epoch, Incarnation: o.Incarnation}
	m.out.order(from, &r)
}

// denied handles a manager's refusal of this node's messages.
func (m *Machine) denied(from nid.NID, o *wire.Order) {
	if o.Incarnation != m.self.Incarnation {
		return
	}
	m.stats.Denied++
	m.deniedFor(from, wire.Refusal(o.You))
}

// deniedFor keeps the reason why this node cannot be a member, and tells the user of a new one.
func (m *Machine) deniedFor(from nid.NID, why wire.Refusal) {
	before := m.refusal
	if m.refusal = refusal(why); before == nil || before.Error() != m.refusal.Error() {
		m.emit(Effect{Kind: Denied, To: from, Why: m.refusal})
	}
}

// returns reports whether this member may obey the manager of its present roster again. It had
// promised another manager, which collected reports, to refuse managers with lower epochs. That
// manager should have published a roster soon; because it published none within HealAfter, the
// promise lapses.
func (m *Machine) returns(o *wire.Order) bool {
	latest := m.group.latest()
	if latest == nil || latest.version.Epoch != o.Epoch || o.Epoch == m.epoch || m.now-m.orderAt < m.cfg.HealAfter {
		return false
	}
	m.stats.Returned++
	return true
}

// canvassed answers the pre-vote of a manager that wants to take over. The answer says what
// this member knows, and whether it would obey; it would not obey while it hears another
// manager. The answer is no promise, so the question of a manager that cannot reach a majority
// changes nothing.
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
