package rmcast

import "ulnet/lnet/nid"

// outranked answers an order of a manager whose epoch is not the highest that this
// member knows: there may be two managers. The one with the higher epoch is heard all
// the time, or has died; then this member would refuse the other one for ever. So after
// HealAfter it ends, and joins as another member.
func (m *Machine) outranked(from nid.NID, o *Order) {
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
func (m *Machine) refuse(from nid.NID, o *Order) {
	m.complaints.refused(m.now, m.out, from, RefusedAhead)
	r := Order{Kind: OrderRefused, Flags: OrderReplica, Group: m.cfg.Group, You: uint32(RefusedAhead), Epoch: m.epoch, Life: o.Life}
	m.order(from, &r)
}

// denied takes word of a manager that it refuses what this node says.
func (m *Machine) denied(from nid.NID, o *Order) {
	if o.Life != m.self.Life {
		return
	}
	m.stats.Denied++
	before := m.refusal
	if m.refusal = Refusal(o.You).Err(); before == nil || before.Error() != m.refusal.Error() {
		m.emit(Effect{Kind: Denied, To: from, Why: m.refusal})
	}
}
