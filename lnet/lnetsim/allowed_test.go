package lnetsim

import (
	"math/bits"

	"ulnet/lnd/sim"
)

// firstProbe is the second of the run at which the first probes are sent: one and a half time-outs and some checks of gateways
// after the last fault.
const firstProbe = 25

// faults are those faults of a plan that may cost messages after they have ended, by the node, counted from 1.
type faults struct {
	cut     map[int]uint // bits of the rails that have lost everything for a while
	crashes map[int]int  // how often the node's machine has lost its power
	starts  map[int]int  // how often the node has started again
}

func newFaults() faults {
	return faults{cut: make(map[int]uint), crashes: make(map[int]int), starts: make(map[int]int)}
}

// startedTwice reports whether a node has started twice, so that its peers may have connections to an earlier
// incarnation.
func (f *faults) startedTwice(node int) bool { return f.crashes[node] > 0 && f.starts[node] > 1 }

// connections returns the largest number of connections that a message between two nodes may take: between two nodes
// of a net, and between each router and either end if the nodes are on two nets.
func (p *plan) connections() int {
	return p.rails * p.rails * max(1, 2*p.routers)
}

// givenUp returns how many connections between two nodes one end may have given up while the other end still uses
// them.
func (p *plan) givenUp(a, b int) int {
	whole := func(node int) int {
		if p.startedTwice(node) {
			return 0
		}
		return p.rails - bits.OnesCount(p.cut[node])
	}
	return p.rails*p.rails - whole(a)*whole(b)
}

// allowed returns how many messages the node from may lose to the node to after all faults have ended: no more than
// docs/routing.md says under "What a crash costs". "A peer that sends one message at a time loses one" for each node
// on the way that has crashed. "Each connection costs a message of its own" if "the node has started twice". And
// "after a rail has lost everything, each connection that only one end has given up costs one message". "After any
// other fault a peer loses one message at most."
func (p *plan) allowed(from, to int) (messages int) {
	nodes, hops := p.way(from, to)
	for _, hop := range hops {
		messages += p.givenUp(hop[0], hop[1])
	}
	for _, node := range nodes {
		if p.crashes[node] > 0 && !p.startedTwice(node) {
			messages++
		}
	}
	return max(messages, 1)
}

// way returns the nodes and the pairs of neighbours that a message between two nodes may go through.
func (p *plan) way(from, to int) (nodes []int, hops [][2]int) {
	l := layout{p.nodes, p.nets, p.rails, p.routers}
	a, b := sim.NodeID(from-1), sim.NodeID(to-1)
	nodes = []int{from, to}
	if l.isRouter(a) || l.isRouter(b) || l.home(a) == l.home(b) {
		return nodes, [][2]int{{from, to}}
	}
	for router := 1; router <= p.routers; router++ {
		nodes = append(nodes, router)
		hops = append(hops, [2]int{from, router}, [2]int{router, to})
	}
	return nodes, hops
}

// probes adds rounds of probes to the scenario. In a round each node sends a PUT to every other node. First there is a
// round a second, twice as many rounds as there are connections between two nodes, so that all connections are used. When
// all these probes have ended, by their time-outs at the latest, there is a last round: all its probes must be answered.
func (p *plan) probes() {
	most := 0
	for from := 1; from <= p.nodes; from++ {
		for to := 1; to <= p.nodes; to++ {
			if from != to {
				most = max(most, p.allowed(from, to))
			}
		}
	}
	rounds := 2 * p.connections()
	for i := range rounds {
		p.Line("at %ds do all probe", firstProbe+i)
	}
	p.Line("expect settled within 8s")
	p.losses(most)
	p.Line("at %ds do all probe", firstProbe+rounds+9)
	p.Line("expect probed within 8s")
	p.losses(most)
}

// losses adds to the scenario how many probes each node may lose to each other node. most is the largest of these
// numbers.
func (p *plan) losses(most int) {
	p.Line("expect lost-probes %d", most)
	for from := 1; from <= p.nodes; from++ {
		for to := 1; to <= p.nodes; to++ {
			if from != to && p.allowed(from, to) < most {
				p.Line("expect lost-probes %d %d %d", p.allowed(from, to), from, to)
			}
		}
	}
}
