package rmcastsim

import (
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario/kit"
	"ulnet/scoll/rmcast/engine"
)

// Status returns the state of a node's member; ok is false if the node is down.
func (n *Net) Status(id sim.NodeID) (s engine.Status, ok bool) {
	if !n.Up(id) {
		return s, false
	}
	return n.incarnations[id].status()
}

// managing returns the state of a node's manager; ok is false if the node is down or has none.
func (n *Net) managing(id sim.NodeID) (g engine.Managing, ok bool) {
	if !n.Up(id) {
		return g, false
	}
	return n.incarnations[id].managing()
}

// Counters sums the counters of the latest incarnation of each node.
func (n *Net) Counters() engine.Stats { return kit.Sum(n.incarnations, incarnation.stats) }

// LostCopies is the number of datagram copies with payload that receivers lost by Config.Loss.
func (n *Net) LostCopies() uint64 { return n.ledger.lostCopies }
