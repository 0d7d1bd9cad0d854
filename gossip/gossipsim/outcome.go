package gossipsim

import (
	"fmt"
	"time"

	"ulnet/lnd/sim"
	"ulnet/lnd/sim/history"
	"ulnet/lnd/sim/scenario/kit"
)

// Outcome is what nodes have reported so far, compared with the ground truth.
type Outcome struct {
	Joins         uint64 // number of events by which a node reported another one as alive
	Deaths        uint64 // number of events by which a node reported another one as dead, correctly or not
	FalseDeaths   uint64 // deaths reported of nodes that were fine, see faults
	FewDeaths     uint64 // deaths reported of nodes that were fine, just after more than six of ten nodes failed at once
	Resurrections uint64 // returns reported of nodes of which there could be no news for longer than a detection takes
	FirstFalse    string // text of the first false death or resurrection

	Detected kit.Delays // time from the end of a node to each report that it died
}

// Outcome returns what nodes have reported so far, compared with the ground truth.
func (n *Net) Outcome() Outcome { return n.outcome }

// event handles an event of a node.
func (n *Net) event(at time.Duration, id sim.NodeID, ev sim.Event) {
	if n.Log != nil {
		n.Log.Tell(at, id, ev)
	}
	switch history.Kind(ev.Kind) {
	case history.Death:
		n.died(at, id, ev.Subject)
	case history.Join:
		n.joined(at, id, ev.Subject)
	case speaksUp:
		n.faults.speaks(id)
	case stopped, left:
		n.faults.silent(id)
	}
}

// died compares a death event with the ground truth.
func (n *Net) died(at time.Duration, observer, subject sim.NodeID) {
	v, t := &n.outcome, &n.faults
	v.Deaths++
	f := &t.nodes[subject]
	switch {
	case f.down && f.ended != never:
		v.Detected.Add(at - f.ended)
	case t.excused(observer, subject):
	case t.few(observer, subject):
		v.FewDeaths++
	default:
		v.FalseDeaths++
		n.first("at %v node %v was told that node %v died, which is fine since %v", at, observer, subject, f.fine)
	}
}

// joined compares a return with the ground truth. It is wrong if the news is older than a detection takes: the node
// has been down, silent after its start or paused for longer, or no path led from it to the observer.
func (n *Net) joined(at time.Duration, observer, subject sim.NodeID) {
	v, t := &n.outcome, &n.faults
	v.Joins++
	limit := n.Cycles(n.limits.Dead + 2)
	switch since := t.links.failed[subject]; {
	case !n.sends(subject) && (since == never || at-since > limit):
		v.Resurrections++
		n.first("at %v node %v was told that node %v is alive, which has sent nothing since %v", at, observer, subject, since)
	case !t.links.reached(subject, observer, at-limit, at):
		v.Resurrections++
		n.first("at %v node %v was told that node %v is alive, of which no news could come for %v", at, observer, subject, limit)
	}
}

func (n *Net) first(format string, args ...any) {
	if n.outcome.FirstFalse == "" {
		n.outcome.FirstFalse = fmt.Sprintf(format, args...)
	}
}
