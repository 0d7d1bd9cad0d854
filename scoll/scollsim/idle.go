package scollsim

import (
	"fmt"

	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
)

// idle checks that nothing is left of broadcasts: no node keeps a request, its slot or its buffers, also if the root
// has died meanwhile. Exempt are requests whose service never returns from running them, because their buffers may be
// in use: "a handle ends with ReplyOut", and that comes "when it returns" (docs/collectives.md).
func (n *Net) idle(scenario.Args) (bool, string) {
	for id := range sim.NodeID(n.cfg.Nodes) {
		if !n.Up(id) {
			continue
		}
		all, stuck := n.incarnations[id].kept()
		if all > stuck {
			return false, fmt.Sprintf("node %v keeps %d requests, %d of them stuck", id, all, stuck)
		}
		inFlight := 0
		for _, g := range n.Groups(id) {
			inFlight += g.InFlight
		}
		if inFlight > stuck {
			return false, fmt.Sprintf("node %v has %d requests under way over its groups, %d of them stuck", id, inFlight, stuck)
		}
	}
	return true, ""
}

// kept implements incarnation. If the service does not return from one attempt of a broadcast, the other attempts
// wait for that run, and count as stuck too.
func (p *program) kept() (all, stuck int) {
	runs := make(map[uint32]bool)
	for _, w := range p.works { // any order: only a set
		runs[w.number] = runs[w.number] || w.stuck
	}
	for _, w := range p.works { // any order: only a sum
		if runs[w.number] {
			stuck++
		}
	}
	return len(p.works) + len(p.fetches), stuck
}

// kept implements incarnation. In a stack, a service that is stuck never replies, but it returns, so no request
// counts as stuck.
func (k *stack) kept() (all, stuck int) { return len(k.open), 0 }
