package lnetsim

import (
	"math/bits"
	"slices"
	"testing"
	"time"

	"ulnet/lnd/sim"
)

// The first probes are sent one and a half time-outs and some checks of gateways after the last fault. In some plans lnet forgets
// idle peers before that (lnet.Config.PeerIdle).
const (
	calm = 15  // seconds from the last fault to the first probes
	idle = 700 // further seconds in which peers are forgotten
)

// harmless is how long a node may stand still, its pauses added up, without an effect on others: less than half of the
// drivers' time-out, which is 1 s in all plans. After that half they ask a silent host for a sign (see package simlnd).
const harmless = 400 * time.Millisecond

// faults are those faults of a plan that may cost messages after they have ended, by the node, counted from 1.
type faults struct {
	cut     map[int]uint          // bits of the rails that have lost everything for a while
	crashes map[int]int           // how often the node's machine has lost its power
	starts  map[int]int           // how often the node has started again
	stood   map[int]time.Duration // how long the node has been paused in all
	apart   map[int]bool          // the nodes that a partition has separated from the others; nil: there is none
}

func newFaults() faults {
	return faults{cut: make(map[int]uint), crashes: make(map[int]int), starts: make(map[int]int), stood: make(map[int]time.Duration)}
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
	if p.apart[a] != p.apart[b] {
		return p.rails * p.rails
	}
	return p.rails*p.rails - whole(a)*whole(b)
}

// allowed returns how many messages the node from may lose to the node to after all faults have ended: no more than
// docs/routing.md says under "What a crash costs". "A peer that sends one message at a time loses one" for each node
// on the way that has crashed. "Each connection costs a message of its own" if "the node has started twice". And
// "after a rail has lost everything, each connection that only one end has given up costs one message". "After any
// other fault a peer loses one message at most." After no fault it loses none.
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
	if messages == 0 && p.hit(from, to) {
		return 1
	}
	return messages
}

// hit reports whether any fault is of a node that a message between two nodes may go through, or separates two of these.
func (p *plan) hit(from, to int) bool {
	nodes, hops := p.way(from, to)
	return slices.ContainsFunc(nodes, func(node int) bool {
		return p.cut[node] != 0 || p.starts[node] > 0 || p.stood[node] > harmless
	}) || slices.ContainsFunc(hops, func(hop [2]int) bool { return p.apart[hop[0]] != p.apart[hop[1]] })
}

// spared adds to the scenario that no operation fails between nodes that no fault hits. There is one exception, see stalls.
func (p *plan) spared() {
	for from := 1; from <= p.nodes; from++ {
		for to := 1; to <= p.nodes; to++ {
			if from != to && !p.hit(from, to) && !p.stalls(from, to) {
				p.Line("expect failed-operations 0 %d %d", from, to)
			}
		}
	}
}

// stalls reports whether a next hop that takes nothing can delay messages to or by a router for as long as the drivers of the plans
// wait before they close the connection, a second: a sender has a single credit at a router, and only "after a second without
// progress the messages to it give their credits back" (docs/decisions.md, "A next hop that takes nothing keeps neither
// buffers nor credits from others").
func (p *plan) stalls(from, to int) bool {
	nodes, _ := p.way(from, to)
	return p.peerCredits == "1" && slices.Min(nodes) <= p.routers
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
// round a second, twice as many rounds as there are connections between two nodes, so that nearly all connections are used:
// two nodes may use the same few again and again, since each chooses its rails by turns. When all these probes have ended,
// by their time-outs at the latest, there are three last rounds. All probes of one of these must be answered: a connection
// that has not been used before may still cost a message, which counts as one of those that allowed returns.
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
		p.Line("at %ds do all probe", p.first+i)
	}
	p.Line("expect settled within 8s")
	p.losses(most)
	last := p.first + rounds + 9
	p.Line("at %ds do all probe", last)
	p.Line("expect probed within 8s")
	p.Line("at %ds do all probe\nat %ds do all probe", last+3, last+6)
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

// TestAllowed: a plan allows as many messages between two nodes to be lost as the faults on their way may cost, and
// no more.
func TestAllowed(t *testing.T) {
	p := &plan{nodes: 8, rails: 2, nets: 3, routers: 1, faults: newFaults()} // node 1 is the router, nodes 2 to 4 are on one net
	p.starts[2], p.stood[3], p.stood[4], p.cut[5] = 1, 2*harmless, harmless, 1
	for _, c := range []struct{ from, to, want int }{
		{2, 3, 1}, {2, 4, 1}, {3, 4, 1}, {4, 1, 0}, {4, 7, 0}, {7, 8, 0}, {8, 4, 0}, {2, 7, 1}, {5, 7, 2}, {5, 6, 2},
	} {
		if got := p.allowed(c.from, c.to); got != c.want || p.hit(c.from, c.to) != (c.want > 0) {
			t.Errorf("from %d to %d: %d messages, hit %v: want %d", c.from, c.to, got, p.hit(c.from, c.to), c.want)
		}
	}
	p.stood[1] = time.Second
	if p.allowed(8, 4) != 1 || p.allowed(7, 8) != 0 || !p.hit(1, 4) {
		t.Error("the router stood still: that counts for all that it forwards, and for nothing else")
	}
	p.stood[1], p.apart = 0, map[int]bool{8: true}
	if p.allowed(8, 7) == 0 || p.allowed(4, 8) == 0 || p.allowed(4, 7) != 0 {
		t.Error("a partition separates node 8 from all others, and none of these from each other")
	}
	if p.peerCredits = "1"; p.stalls(7, 8) || !p.stalls(4, 7) || !p.stalls(4, 1) {
		t.Error("a single credit stalls messages to and by routers, and no others")
	}
}
