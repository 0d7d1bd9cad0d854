package kit

import (
	"math/rand/v2"
	"time"

	"ulnet/lnd/sim"
)

// Discovery is discovery that errs as gossip does: a node counts as dead for an observer also while it is paused, or while
// no path leads from it to the observer. Each observer has a view of its own. A restarted node is silent until all others
// have learned of its death, and a new incarnation takes all others for dead until it hears of them. The zero value
// reports nothing.
type Discovery struct {
	Base    *Base            // the network whose nodes are told
	Cuts    func() *sim.Cuts // partitions and cuts that are in force
	Silence time.Duration    // how long a restarted node is silent
	// Delay returns the time until an observer is told that a node has died or, if returns is set, has come back. It
	// depends on a number drawn at random.
	Delay func(returns bool, drawn uint64) time.Duration
	// Report tells an observer that runs whether a node is alive.
	Report func(observer, subject sim.NodeID, o *Opinion)

	Views [][]Opinion // reports by observer, then by subject; set by Begin

	pcg   rand.PCG
	ready []time.Duration // by node: when it speaks again after a restart
	dirty bool            // look is planned
}

// Opinion is what a node (the observer) was told about another one (the subject), and what it will be told next.
type Opinion struct {
	Alive    bool          // the subject is alive for the observer
	Lifetime uint64        // how often the subject has died for the observer
	Last     time.Duration // time of the latest report; negative: there was none

	soon   bool   // the subject will be alive for the observer, once all reports have come
	change uint32 // number of the latest change; reports of earlier ones are dropped
}

// Begin begins discovery among the first nodes, as many as the argument nodes says. The function knows reports whether
// an observer takes a node for alive at first.
func (d *Discovery) Begin(seed, salt uint64, nodes int, knows func(observer, subject sim.NodeID) bool) {
	d.pcg.Seed(seed, salt)
	d.ready, d.Views = make([]time.Duration, nodes), make([][]Opinion, nodes)
	for i := range d.Views {
		d.Views[i] = make([]Opinion, nodes)
		for k := range d.Views[i] {
			known := knows(sim.NodeID(i), sim.NodeID(k))
			d.Views[i][k] = Opinion{Alive: known, soon: known, Last: -1}
		}
	}
}

// Changed makes discovery look again, because something was done to nodes or links.
func (d *Discovery) Changed() {
	if len(d.Views) == 0 || d.dirty || d.Base.Control == nil {
		return
	}
	d.dirty = true
	d.Base.At(d.Base.Now(), d.look)
}

// Ended handles the end of an incarnation: the next one knows nothing about the others, and is silent for a time.
func (d *Discovery) Ended(id sim.NodeID) {
	if int(id) >= len(d.Views) {
		return
	}
	for k := range d.Views[id] {
		o := &d.Views[id][k]
		*o = Opinion{Lifetime: o.Lifetime + 1, change: o.change + 1, Last: d.Base.Now()}
	}
	d.ready[id] = d.Base.Now() + d.Silence
	d.Base.At(d.ready[id], d.Changed)
	d.Changed()
}

// Resumed handles the end of a pause: reports that were due meanwhile were lost, and the timeouts begin anew.
func (d *Discovery) Resumed(id sim.NodeID) {
	if int(id) >= len(d.Views) {
		return
	}
	for k := range d.Views[id] {
		o := &d.Views[id][k]
		o.soon = o.Alive
		o.change++
	}
	d.Changed()
}

// runs reports whether a process runs on a node and is not paused.
func (d *Discovery) runs(id sim.NodeID) bool { return d.Base.Up(id) && !d.Base.Paused(id) }

// look plans reports of what has changed for each node that runs.
func (d *Discovery) look() {
	d.dirty = false
	speaks := make([]bool, len(d.Views))
	for k := range speaks {
		speaks[k] = d.runs(sim.NodeID(k)) && d.Base.Now() >= d.ready[k]
	}
	for i := range d.Views {
		if observer := sim.NodeID(i); d.runs(observer) {
			hears := Hears(observer, speaks, d.Cuts())
			for k := range d.Views[i] {
				if o := &d.Views[i][k]; k != i && o.soon != hears[k] {
					d.plan(observer, sim.NodeID(k), o)
				}
			}
		}
	}
}

// plan plans a report to an observer that a node has died or come back. If the state changes back before, there is no
// report.
func (d *Discovery) plan(observer, subject sim.NodeID, o *Opinion) {
	o.soon = !o.soon
	o.change++
	change := o.change
	d.Base.At(d.Base.Now()+d.Delay(o.soon, d.pcg.Uint64()), func() {
		if o.change == change && o.Alive != o.soon && d.runs(observer) {
			if o.Alive = o.soon; !o.Alive {
				o.Lifetime++
			}
			o.Last = d.Base.Now()
			d.Report(observer, subject, o)
		}
	})
}

// Hears returns the nodes of which signs that they are alive reach an observer, directly or over other nodes. The
// argument speaks says which nodes send such signs, and pass them on. The result for the observer itself means nothing.
func Hears(observer sim.NodeID, speaks []bool, cuts *sim.Cuts) []bool {
	if !cuts.Some() {
		return speaks
	}
	hears := make([]bool, len(speaks))
	hears[observer] = true
	for next := []sim.NodeID{observer}; len(next) > 0; next = next[1:] {
		for k := range hears {
			if id := sim.NodeID(k); !hears[k] && speaks[k] && !cuts.Apart(id, next[0]) {
				hears[k] = true
				next = append(next, id)
			}
		}
	}
	return hears
}
