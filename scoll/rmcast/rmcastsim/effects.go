package rmcastsim

import (
	"errors"
	"slices"

	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario/kit"
	"ulnet/scoll/rmcast"
	"ulnet/scoll/rmcast/engine"
)

// apply applies an effect of a machine.
func (p *program) apply(e *engine.Effect) {
	n := p.net
	head := n.out.Buf[e.Head.Begin:e.Head.End]
	switch e.Kind {
	case engine.DoMulticast:
		p.multicast(newMessage(Cast, head, e.Data))
	case engine.DoRepair:
		p.put(kit.NodeOf(e.To), newMessage(Repair, head, e.Data))
	case engine.DoControl:
		p.put(kit.NodeOf(e.To), newMessage(Control, head, nil))
	case engine.DoReport:
		to, m := kit.NodeOf(e.To), newMessage(order, head, e.Data)
		if to == p.id {
			p.take(to, m)
		} else {
			p.put(to, m)
		}
	case engine.Deliver:
		n.ledger.delivered(p.id, e.Origin, e.Seq, e.Data)
	case engine.Gone:
		p.gone(e.Why)
	default:
		p.settle(e)
	}
}

// multicast sends a datagram to all other nodes, members or not.
func (p *program) multicast(m *kit.Message) {
	n, again := p.net, false
	for to := range sim.NodeID(n.cfg.Nodes) {
		if to == p.id {
			continue
		}
		if n.cfg.Tap != nil {
			n.cfg.Tap(p.id, to, m.Kind, m.Data)
		}
		if n.cfg.Loss > 0 && p.rng.Float64() < n.cfg.Loss {
			n.ledger.lost(m.Data)
			continue
		}
		p.sends.Sends = append(p.sends.Sends, send(m, to, again))
		again = true
	}
}

func (p *program) put(to sim.NodeID, m *kit.Message) {
	if tap := p.net.cfg.Tap; tap != nil {
		tap(p.id, to, m.Kind, m.Data)
	}
	p.sends.Sends = append(p.sends.Sends, send(m, to, false))
}

// gone handles the end of membership. A node that was expelled joins again, and so does one that
// was told to do so while it left.
func (p *program) gone(why error) {
	n := p.net
	n.ledger.healed(p.id, p.m.Stats().Healed)
	if errors.Is(why, engine.ErrLeft) {
		n.stopped(p.id)
		n.left(p.id, p.now, why)
	}
	if n.nodes[p.id].wants {
		p.input(engine.Input{Kind: engine.Join})
	}
}

// settle applies an effect that tells the outcome of an operation of this node, and records it.
func (p *program) settle(e *engine.Effect) {
	n := p.net
	switch e.Kind {
	case engine.Full:
		p.offered = false
	case engine.Accepted:
		n.ledger.accepted(e.Token.(*Message), e.Seq)
		p.next()
	case engine.Room:
		p.offer()
	case engine.Released:
		n.ledger.released(e.Token.(*Message), rmcast.Result{
			Seq: e.Seq, Version: e.Version, Failed: slices.Clone(n.out.IDs[e.Failed.Begin:e.Failed.End]),
		}, e.Why)
	case engine.Lost:
		m := e.Token.(*Message)
		n.ledger.ended(m, e.Why)
		if len(p.outbox) > 0 && p.outbox[0] == m {
			p.next()
		}
	case engine.Changed:
		if p.g == nil {
			return
		}
		if g := p.g.Status(); g.Active {
			n.ledger.list(g.Version, g.Members)
		}
	case engine.Suspect:
		n.ledger.suspects++
	}
}

// next offers the next message to the machine.
func (p *program) next() {
	p.outbox, p.offered = p.outbox[1:], false
	p.offer()
}
