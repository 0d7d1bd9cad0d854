package scollsim

import (
	"slices"
	"time"

	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario/kit"
)

// erring is discovery that errs as gossip does. A node comes back in the same incarnation, with a higher lifetime.
type erring struct{ kit.Discovery }

func (e *erring) init(n *Net) {
	most := n.cfg.Discovery
	if !n.cfg.Errs || most == 0 {
		return
	}
	e.Discovery = kit.Discovery{
		Base: &n.Base, Silence: most * 5 / 4, Cuts: func() *sim.Cuts { return &n.faults.links.Latest().Cuts },
		Delay: func(returns bool, drawn uint64) time.Duration { // of a death after at least half of the time of discovery, of a return after at least a quarter of it
			d := most
			if returns {
				d /= 2
			}
			return d - time.Duration(drawn%uint64(d/2+1))
		},
		Report: func(observer, subject sim.NodeID, o *kit.Opinion) { n.oracle.report(observer, subject, vitalOf(o)) },
	}
	e.Begin(n.cfg.Seed, 0xE221, n.cfg.Nodes, func(_, subject sim.NodeID) bool { return n.cfg.AtFirst(subject) })
}

func (e *erring) on() bool { return len(e.Views) > 0 }

func vitalOf(o *kit.Opinion) vital { return vital{o.Alive, o.Lifetime} }

// heldDead reports whether a node counted as dead for an observer at any time since an instant.
func (e *erring) heldDead(observer, subject sim.NodeID, since time.Duration) bool {
	if !e.on() || observer == subject {
		return false
	}
	v := &e.Views[observer][subject]
	return !v.Alive || v.Last >= since
}

// disagreed reports whether two nodes did not agree which of some nodes are alive, at any time since an instant.
func (e *erring) disagreed(a, b sim.NodeID, about []sim.NodeID, since time.Duration) bool {
	return e.on() && slices.ContainsFunc(about, func(id sim.NodeID) bool {
		v, w := &e.Views[a][id], &e.Views[b][id]
		return (v.Alive || id == a) != (w.Alive || id == b) || v.Last >= since || w.Last >= since
	})
}
