package rmcastsim

import (
	"math/rand/v2"
	"slices"
	"time"

	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
)

// gossip is a model of gossip among all nodes, in place of the oracle. A node hears another one while a path leads
// from the other one to it, directly or over further nodes, and then also knows what the other one has heard. A
// manager reports a node as dead if its latest news of the node is older than a limit, which is drawn at random,
// because this time varies in gossip, too. The death is certain when there is news of more than half of all nodes that
// is later than the report.
type gossip struct {
	net     *Net
	pcg     rand.PCG
	heardAt [][]time.Duration // for each node, time of its latest news of each node
	sights  [][]sight         // for each manager, what it has reported of each node
}

// sight is what a manager has reported of a node.
type sight struct {
	known   bool          // the node was reported alive
	dead    bool          // the node was reported dead since
	certain bool          // the death is certain
	deadAt  time.Duration // when the death was reported
	silence time.Duration // age of news above which the node is dead
}

// looks is how often the nodes exchange news while Config.Discovery passes.
const looks = 16

func (g *gossip) init(n *Net) {
	g.net, g.heardAt, g.sights = n, make([][]time.Duration, n.cfg.Nodes), make([][]sight, n.cfg.Managers)
	g.pcg.Seed(n.cfg.Seed, 0x60551)
	for id := range sim.NodeID(n.cfg.Nodes) {
		g.started(id)
	}
}

// started handles the start of a node, which knows nothing yet.
func (g *gossip) started(id sim.NodeID) {
	g.heardAt[id] = make([]time.Duration, g.net.cfg.Nodes)
	if int(id) < len(g.sights) {
		g.sights[id] = make([]sight, g.net.cfg.Nodes)
	}
}

// start begins the exchange of news.
func (g *gossip) start() { g.net.At(g.net.Now()+g.net.cfg.Discovery/looks, g.look) }

// look makes all nodes exchange news, and managers report what has changed.
func (g *gossip) look() {
	n := g.net
	before := make([][]time.Duration, n.cfg.Nodes)
	for i := range before {
		before[i] = slices.Clone(g.heardAt[i])
	}
	for id := range sim.NodeID(n.cfg.Nodes) {
		for other, hears := range g.hears(id) {
			if !hears {
				continue
			}
			for i, at := range before[other] {
				g.heardAt[id][i] = max(g.heardAt[id][i], at)
			}
			g.heardAt[id][other] = n.Now()
		}
	}
	for id := range sim.NodeID(n.cfg.Managers) {
		if n.Up(id) && !n.nodes[id].paused {
			g.report(id)
		}
	}
	g.start()
}

// report reports what has changed for one manager.
func (g *gossip) report(manager sim.NodeID) {
	n, all := g.net, g.sights[manager]
	for i := range all {
		id, s, at := sim.NodeID(i), &all[i], g.heardAt[manager][i]
		switch young := at > 0 && n.Now()-at < n.cfg.Discovery/2; {
		case id == manager:
		case young && (!s.known || s.dead):
			*s = sight{known: true, silence: g.silence()}
			g.tell(manager, id, "alive")
		case s.known && !s.dead && n.Now()-at >= s.silence:
			s.dead, s.deadAt = true, n.Now()
			g.tell(manager, id, "doubted")
		}
	}
	for i := range all {
		if s := &all[i]; s.dead && !s.certain && g.mostSince(manager, s.deadAt) {
			s.certain = true
			n.ledger.died[n.id(sim.NodeID(i))] = true
		}
		if all[i].certain { // tell it again and again: it does not count while the manager hears the member
			g.tell(manager, sim.NodeID(i), "ended")
		}
	}
}

// silence draws the silence after which a node is reported dead: half of Discovery to Discovery.
func (g *gossip) silence() time.Duration {
	d := g.net.cfg.Discovery
	return d - time.Duration(g.pcg.Uint64()%uint64(d/2+1))
}

// mostSince reports whether a manager has news of more than half of all nodes that is later than an instant. Nodes that
// the manager has reported dead do not count.
func (g *gossip) mostSince(manager sim.NodeID, at time.Duration) bool {
	count := 0
	for i, heard := range g.heardAt[manager] {
		if heard > at && !g.sights[manager][i].dead {
			count++
		}
	}
	return 2*count > g.net.cfg.Nodes
}

// hears returns for each node whether a path leads from it to the node id now. It is true for id itself.
func (g *gossip) hears(id sim.NodeID) []bool {
	n := g.net
	hears := make([]bool, n.cfg.Nodes)
	for next := []sim.NodeID{id}; len(next) > 0; next = next[1:] {
		if to := next[0]; !hears[to] && n.Up(to) && !n.nodes[to].paused {
			hears[to] = true
			for from := range sim.NodeID(n.cfg.Nodes) {
				if !hears[from] && !n.cut(from, to) {
					next = append(next, from)
				}
			}
		}
	}
	return hears
}

// cut reports whether messages from one node to another are cut off now.
func (n *Net) cut(from, to sim.NodeID) (cut bool) {
	for s := range n.links.Since(n.Now()) {
		cut = s.Apart(from, to) // the last state is the present one
	}
	return cut
}

// tell passes news about a node to a manager.
func (g *gossip) tell(manager, subject sim.NodeID, news string) {
	n := g.net
	if !n.cfg.Stacks {
		n.Command(manager, news+" "+subject.String())
		return
	}
	if news != "ended" { // agents ask for that
		n.Fabric.Do(manager, func(*simlnd.Host) { n.incarnations[manager].(*stack).hear(simlnd.NID(subject), news == "alive") })
	}
}
