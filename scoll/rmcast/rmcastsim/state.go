package rmcastsim

import (
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario/kit"
	"ulnet/scoll/rmcast/engine"
)

// Status describes a node's part in the group; ok is false if it is down.
func (n *Net) Status(id sim.NodeID) (s engine.Status, ok bool) {
	if !n.Up(id) {
		return s, false
	}
	return n.incarnations[id].status()
}

// Managing describes the manager on a node; ok is false if it is down, or is none.
func (n *Net) Managing(id sim.NodeID) (g engine.Managing, ok bool) {
	if !n.Up(id) {
		return g, false
	}
	return n.incarnations[id].managing()
}

// Counters are the counters of all nodes' latest lives.
func (n *Net) Counters() engine.Stats { return kit.Sum(n.incarnations, incarnation.stats) }

// LostCopies is how many copies of datagrams with payload receivers have lost, by
// Config.Loss.
func (n *Net) LostCopies() uint64 { return n.ledger.lostCopies }
