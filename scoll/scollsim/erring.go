package scollsim

import (
	"math/rand/v2"
	"slices"
	"time"

	"ulnet/lnd/sim"
)

// erring is discovery that errs as gossip does: a node counts as dead for an observer also while it is paused, or while
// no path leads from it to the observer. It comes back in the same incarnation, with a higher lifetime. Each observer
// has a view of its own. A restarted node is silent until all others have learned of its death, and a new incarnation
// takes all others for dead until it hears of them.
type erring struct {
	net   *Net
	pcg   rand.PCG
	ready []time.Duration // by node: when it speaks again after a restart
	views [][]opinion     // reports by observer, then by subject
	dirty bool            // look is planned
}

// opinion is what a node (the observer) was told about another one (the subject), and what it will be told next.
type opinion struct {
	vital
	soon   bool          // the subject will be alive for the observer, once all reports have come
	change uint32        // number of the latest change; reports of earlier ones are dropped
	last   time.Duration // time of the latest report; never: there was none
}

func (e *erring) init(n *Net) {
	e.net = n
	if !e.on() {
		return
	}
	e.pcg.Seed(n.cfg.Seed, 0xE221)
	e.ready, e.views = make([]time.Duration, n.cfg.Nodes), make([][]opinion, n.cfg.Nodes)
	for i := range e.views {
		e.views[i] = make([]opinion, n.cfg.Nodes)
		for k := range e.views[i] {
			first := n.cfg.AtFirst(sim.NodeID(k))
			e.views[i][k] = opinion{vital: vital{alive: first}, soon: first, last: never}
		}
	}
}

func (e *erring) on() bool { return e.net.cfg.Errs && e.net.cfg.Discovery > 0 }

// changed makes discovery look again, because something was done to nodes or links.
func (e *erring) changed() {
	if !e.on() || e.dirty || e.net.Control == nil {
		return
	}
	e.dirty = true
	e.net.At(e.net.Now(), e.look)
}

// ended handles the end of an incarnation.
func (e *erring) ended(id sim.NodeID) {
	if !e.on() {
		return
	}
	for k := range e.views[id] {
		v := &e.views[id][k]
		*v = opinion{vital: vital{lifetime: v.lifetime + 1}, change: v.change + 1, last: e.net.Now()}
	}
	e.ready[id] = e.net.Now() + e.net.cfg.Discovery*5/4
	e.net.At(e.ready[id], e.changed)
	e.changed()
}

// resumed handles the end of a pause: reports that were due meanwhile were lost, and the timeouts begin anew.
func (e *erring) resumed(id sim.NodeID) {
	if !e.on() {
		return
	}
	for k := range e.views[id] {
		v := &e.views[id][k]
		v.soon = v.alive
		v.change++
	}
	e.changed()
}

// runs reports whether a process runs on a node and is not paused.
func (e *erring) runs(id sim.NodeID) bool { return e.net.Up(id) && !e.net.Paused(id) }

// look plans reports of what has changed for each node that runs.
func (e *erring) look() {
	e.dirty = false
	for i := range e.views {
		if observer := sim.NodeID(i); e.runs(observer) {
			hears := e.hears(observer)
			for k := range e.views[i] {
				if v := &e.views[i][k]; k != i && v.soon != hears[k] {
					e.plan(observer, sim.NodeID(k), v)
				}
			}
		}
	}
}

// hears returns the nodes that speak, and from which a path leads to an observer.
func (e *erring) hears(observer sim.NodeID) []bool {
	n := e.net
	hears := make([]bool, n.cfg.Nodes)
	hears[observer] = true
	links := n.faults.links.Latest()
	for queue := []sim.NodeID{observer}; len(queue) > 0; queue = queue[1:] {
		for id := range sim.NodeID(n.cfg.Nodes) {
			if !hears[id] && e.runs(id) && n.Now() >= e.ready[id] && !links.Apart(id, queue[0]) {
				hears[id] = true
				queue = append(queue, id)
			}
		}
	}
	return hears
}

// plan plans a report to an observer that a node has died or come back: of a death after at least half of the time of
// discovery, of a return after at least a quarter of it. If the state changes back before, there is no report.
func (e *erring) plan(observer, subject sim.NodeID, v *opinion) {
	v.soon = !v.soon
	v.change++
	change, most := v.change, e.net.cfg.Discovery
	if v.soon {
		most /= 2
	}
	e.net.At(e.net.Now()+most-time.Duration(e.pcg.Uint64()%uint64(most/2+1)), func() {
		if v.change == change && v.alive != v.soon && e.runs(observer) {
			if v.alive = v.soon; !v.alive {
				v.lifetime++
			}
			v.last = e.net.Now()
			e.net.oracle.report(observer, subject, v.vital)
		}
	})
}

// heldDead reports whether a node counted as dead for an observer at any time since an instant.
func (e *erring) heldDead(observer, subject sim.NodeID, since time.Duration) bool {
	if !e.on() || observer == subject {
		return false
	}
	v := &e.views[observer][subject]
	return !v.alive || v.last >= since
}

// disagreed reports whether two nodes did not agree which of some nodes are alive, at any time since an instant.
func (e *erring) disagreed(a, b sim.NodeID, about []sim.NodeID, since time.Duration) bool {
	return e.on() && slices.ContainsFunc(about, func(id sim.NodeID) bool {
		v, w := e.views[a][id], e.views[b][id]
		return (v.alive || id == a) != (w.alive || id == b) || v.last >= since || w.last >= since
	})
}
