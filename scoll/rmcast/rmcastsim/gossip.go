package rmcastsim

import (
	"math/rand/v2"
	"slices"
	"time"

	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario/kit"
	"ulnet/lnd/simlnd"
	"ulnet/scoll/rmcast"
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
	before  [][]time.Duration // heardAt before the present exchange of news
	reach   [][]bool          // for each node, which nodes it hears, see paths; nil: to be found out, because something has changed
	sights  [][]sight         // for each manager, what it has reported of each node
}

// sight is what a manager has reported of a node.
type sight struct {
	known   bool          // the node was reported alive
	dead    bool          // the node was reported dead since
	certain bool          // the death is certain
	ended   bool          // the death counts as soon as the manager has a list, see ends
	deadAt  time.Duration // when the death was reported
	silence time.Duration // age of news above which the node is dead
}

// looks is how often the nodes exchange news while Config.Discovery passes.
const looks = 16

func (g *gossip) init(n *Net) {
	g.net, g.heardAt, g.sights = n, make([][]time.Duration, n.cfg.Nodes), make([][]sight, n.cfg.Managers)
	g.before = make([][]time.Duration, n.cfg.Nodes)
	g.pcg.Seed(n.cfg.Seed, 0x60551)
	for id := range sim.NodeID(n.cfg.Nodes) {
		g.started(id)
	}
}

// started handles the start of a node, which knows nothing yet.
func (g *gossip) started(id sim.NodeID) {
	g.heardAt[id], g.reach = make([]time.Duration, g.net.cfg.Nodes), nil
	if int(id) < len(g.sights) {
		g.sights[id] = make([]sight, g.net.cfg.Nodes)
	}
}

// start begins the exchange of news.
func (g *gossip) start() { g.net.At(g.net.Now()+g.net.cfg.Discovery/looks, g.look) }

// look makes all nodes exchange news, and managers report what has changed.
func (g *gossip) look() {
	n := g.net
	if g.reach == nil {
		g.paths()
	}
	for i := range g.before {
		g.before[i] = append(g.before[i][:0], g.heardAt[i]...)
	}
	for id := range g.reach {
		all := g.heardAt[id]
		for other, hears := range g.reach[id] {
			if !hears {
				continue
			}
			for i, at := range g.before[other] {
				all[i] = max(all[i], at)
			}
			all[other] = n.Now()
		}
	}
	for id := range sim.NodeID(n.cfg.Managers) {
		if n.Up(id) && !n.nodes[id].paused {
			g.report(id)
		}
	}
	g.start()
}

// paths finds out which nodes each node hears: those from which a path leads to it now, itself included, unless it does
// not run.
func (g *gossip) paths() {
	n := g.net
	runs := make([]bool, n.cfg.Nodes)
	for id := range runs {
		runs[id] = n.Up(sim.NodeID(id)) && !n.nodes[id].paused
	}
	g.reach = make([][]bool, n.cfg.Nodes)
	for id := range runs {
		if runs[id] {
			g.reach[id] = kit.Hears(sim.NodeID(id), runs, &n.links.Latest().Cuts)
		}
	}
}

// report reports what has changed for one manager.
func (g *gossip) report(manager sim.NodeID) {
	n, all := g.net, g.sights[manager]
	for i := range all {
		id, s, at := sim.NodeID(i), &all[i], g.heardAt[manager][i]
		switch young := at > 0 && n.Now()-at < n.cfg.Discovery/2; {
		case id == manager:
		case young && (!s.known || s.dead):
			g.ends(manager, id)
			*s = sight{known: true, silence: g.silence()}
			g.tell(manager, id, "alive")
		case s.known && !s.dead && n.Now()-at >= s.silence:
			s.dead, s.deadAt = true, n.Now()
			g.tell(manager, id, "doubted")
		}
	}
	for i := range all {
		if s := &all[i]; s.dead && !s.certain && g.mostSince(manager, s.deadAt) {
			s.certain, s.ended = true, !g.lists(manager, sim.NodeID(i))
		}
		if all[i].certain { // tell it again and again: it does not count while the manager hears the member
			g.ends(manager, sim.NodeID(i))
			g.tell(manager, sim.NodeID(i), "ended")
		}
	}
}

// lists reports whether a manager is active and has a member on a node on its list.
func (g *gossip) lists(manager, id sim.NodeID) bool {
	m, ok := g.net.managing(manager)
	return ok && m.Active && slices.ContainsFunc(m.Members, func(x rmcast.Member) bool { return kit.NodeOf(x.NID) == id })
}

// ends records that the members on a node have ended, if a manager may count them as dead now: "While the manager hears
// a member, and for three seconds longer, the death of its node does not count [...] a manager that does not hear it, or
// takes over, may count it as dead" (docs/multicast.md).
func (g *gossip) ends(manager, id sim.NodeID) {
	n, s := g.net, &g.sights[manager][id]
	m, ok := n.managing(manager)
	switch {
	case !ok || !s.certain:
		return
	case !m.Active || !m.Version.IsValid():
		s.ended = true
		return
	}
	if s.ended = s.ended && !g.lists(manager, id); s.ended || n.silent(manager, id, n.cfg.Manager.Filled().Takeover, n.Now()-n.reports()) {
		for _, member := range n.ledger.listed[id] {
			n.ledger.died[member] = true
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
