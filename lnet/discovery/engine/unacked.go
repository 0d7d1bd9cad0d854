package engine

import (
	"time"

	"ulnet/lnet"
	"ulnet/lnet/machine"
)

// unackedPush is a push whose exchange has ended without an ACK, because nothing waits for it. The ACK still counts
// if it comes before the next ping or push to the peer is given up. If none comes, the machine cancels the push at
// the deadline of its exchange: LNet would give up the answer soon after that, and lower the health of the next hop,
// which may be a gateway that is well.
type unackedPush struct {
	id    uint64                  // ID of the push, which its Send.Exchange had
	began time.Duration           // time at which the exchange began
	due   machine.Deadline[*peer] // time at which the push is cancelled
}

// keep makes the ACK of a push count after its exchange x has ended. id is that of the push.
func (m *Machine) keep(p *peer, x *exchange, id uint64) {
	p.unacked = &unackedPush{id: id, began: x.began, due: machine.Deadline[*peer]{Of: p}}
	m.unacked[id] = p
	m.lapses.Set(&p.unacked.due, x.deadline)
}

// disregard cancels the push to p that keep has kept, if there is one.
func (m *Machine) disregard(p *peer, out *Output) {
	if p.unacked != nil {
		out.Cancelled = append(out.Cancelled, p.unacked.id)
		m.unkeep(p)
	}
}

func (m *Machine) unkeep(p *peer) {
	m.lapses.Clear(&p.unacked.due)
	delete(m.unacked, p.unacked.id)
	p.unacked = nil
}

// expireUnacked cancels the pushes that have had no ACK until the deadline of their exchange.
func (m *Machine) expireUnacked(now time.Duration, out *Output) {
	for d := m.lapses.First(); d != nil && d.At() <= now; d = m.lapses.First() {
		m.disregard(d.Of, out)
	}
}

// answeredLate handles the ACK of a push whose exchange has ended, or its failure. The ACK also ends another push of
// the same info that is under way.
func (m *Machine) answeredLate(now time.Duration, p *peer, in Input, out *Output) {
	m.unkeep(p)
	if in.Kind != Acked {
		return
	}
	before := m.shown(p)
	if p.acked = max(p.acked, in.Sequence); m.shown(p) != before {
		m.changed(p)
	}
	if m.needsPush(p) {
		return
	}
	m.forgo(p)
	if p.flags.Has(lnet.PeerPushSent) {
		m.end(p, 0, out)
	}
	m.advance(now, p, out)
}
