package sim

import (
	"math/rand/v2"
	"slices"
	"time"

	"ulnet/lnd/link"
)

// start begins a node's next life.
func (n *Network[M]) start(id NodeID, kept Program[M]) {
	nd := &n.nodes[id]
	if nd.state&stateUp != 0 {
		return
	}
	seed := rand.NewPCG(n.cfg.Seed, streamNodes+uint64(id)<<8+uint64(nd.life)<<40).Uint64()
	nd.program = n.cfg.Boot(Life{Node: id, Number: uint64(nd.life), Seed: seed, Now: n.local(id)}, kept)
	nd.state = stateUp | stateHost
	n.step(id, Input[M]{Kind: Start}, 0)
}

// Start starts a node that is down: for the first time, or again with or
// without what it kept. A node that is up it leaves alone, and says false.
func (n *Network[M]) Start(id NodeID, keep bool) bool {
	if n.Up(id) {
		return false
	}
	var kept Program[M]
	if keep {
		kept = n.nodes[id].program
	}
	n.start(id, kept)
	return true
}

// Kill ends the process of a node. Its host stays and refuses messages.
func (n *Network[M]) Kill(id NodeID) {
	if n.end(id) {
		n.nodes[id].state = stateHost
		n.tellWatchers(id)
	}
}

// Crash ends a node together with its host: from then on there is silence.
func (n *Network[M]) Crash(id NodeID) {
	n.end(id)
	n.nodes[id].state = 0
}

// end ends the life of a node, if it has one.
func (n *Network[M]) end(id NodeID) bool {
	nd := &n.nodes[id]
	if nd.state&stateUp == 0 {
		return false
	}
	for nd.waiting > 0 {
		n.release(n.unwait(nd))
	}
	nd.wake, nd.skip = never, 0
	nd.life++
	n.mix(uint64(n.now), uint64(id), 1)
	return true
}

// Pause stops a node: what reaches it waits, and no timer comes, until Resume.
func (n *Network[M]) Pause(id NodeID) {
	if nd := &n.nodes[id]; nd.state&stateUp != 0 {
		nd.state |= statePaused
	}
}

// Resume ends a pause. A timer that came due meanwhile comes at a place among
// the messages that wait which is drawn from the seed.
func (n *Network[M]) Resume(id NodeID) {
	nd := &n.nodes[id]
	if nd.state&statePaused == 0 {
		return
	}
	nd.state &^= statePaused
	if nd.wake <= n.now {
		nd.skip = n.rng.Int32N(nd.waiting + 1)
	} else {
		n.arm(id)
	}
	n.drain(id)
}

// MinSkew is the slowest clock there can be, in ppm: it shows a thousandth of
// the time.
const MinSkew = -999_000

// SetSkew lets a node's clock gain ppm microseconds per second, or lose them;
// not less than MinSkew.
func (n *Network[M]) SetSkew(id NodeID, ppm int64) {
	if n.clocks == nil {
		n.clocks = make([]clock, len(n.nodes))
	}
	nd, c := &n.nodes[id], &n.clocks[id]
	old := *c
	*c = clock{virtual: n.now, local: old.at(n.now), ppm: max(ppm, MinSkew)}
	if nd.wake != never && nd.wake > n.now {
		nd.wake = c.when(old.at(nd.wake))
		n.arm(id)
	}
}

// SetSlow makes every step of a node cost so much more CPU time.
func (n *Network[M]) SetSlow(id NodeID, extra time.Duration) {
	if n.slow == nil {
		n.slow = make([]int64, len(n.nodes))
	}
	n.slow[id] = int64(extra)
}

// Command steps a node with a Command, after what waits there if it is busy
// or paused. A node that is down does not get it, and false is returned.
func (n *Network[M]) Command(id NodeID, text string) bool {
	nd := &n.nodes[id]
	if nd.state&stateUp == 0 {
		return false
	}
	i := n.take()
	f := &n.flights[i]
	f.kind, f.from, f.to, f.life = Command, id, id, nd.life
	if n.commands == nil {
		n.commands = make(map[int32]string)
	}
	n.commands[i] = text
	n.arrive(id, i)
	return true
}

// Partition separates nodes: those in different sets reach each other no
// more. Nodes in none of them form a set of their own.
func (n *Network[M]) Partition(sets ...NodeSet) {
	n.group = make([]uint16, len(n.nodes))
	for i, s := range sets {
		for id := range s.All(len(n.nodes)) {
			n.group[id] = uint16(i + 1)
		}
	}
}

// cut is a one-way cut.
type cut struct{ from, to NodeSet }

// Cut lets nothing through from one set of nodes to another any more.
func (n *Network[M]) Cut(from, to NodeSet) { n.cuts = append(n.cuts, cut{from, to}) }

// Heal ends partitions and cuts.
func (n *Network[M]) Heal() { n.group, n.cuts = nil, nil }

// separated reports whether a partition or cut keeps messages back.
func (n *Network[M]) separated(from, to NodeID) bool {
	if n.group != nil && n.group[from] != n.group[to] {
		return true
	}
	return len(n.cuts) > 0 && slices.ContainsFunc(n.cuts, func(c cut) bool { return c.from.Has(from) && c.to.Has(to) })
}

// rule changes what some paths are like.
type rule struct {
	from, to NodeSet
	change   link.Change
	quality  link.Quality // scratch
}

// SetLink changes what the paths from one set of nodes to another are like.
// Later changes of the same field win.
func (n *Network[M]) SetLink(from, to NodeSet, change link.Change) {
	n.rules = append(n.rules, rule{from: from, to: to, change: change})
}

// ResetLinks undoes every SetLink.
func (n *Network[M]) ResetLinks() { n.rules = nil }

// changed applies the rules to a quality.
func (n *Network[M]) changed(from, to NodeID, base *link.Quality) *link.Quality {
	for i := range n.rules {
		if r := &n.rules[i]; r.from.Has(from) && r.to.Has(to) {
			r.quality = r.change.Apply(*base)
			base = &r.quality
		}
	}
	return base
}

// SetAccessRate sets the bandwidth of the nodes' own links, each way.
func (n *Network[M]) SetAccessRate(nodes NodeSet, rate int64) {
	if n.access == nil {
		n.access = make([]accessLink, len(n.nodes))
	}
	for id := range nodes.All(len(n.nodes)) {
		n.access[id].rate = rate
	}
}
