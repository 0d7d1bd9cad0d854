package rmcastsim

import (
	"slices"
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario/kit"
	"ulnet/lnet/machine"
)

// outage is a time in which the messages between a manager and a node were late or lost. It lasts still if its end is
// [machine.Never].
type outage struct{ from, to time.Duration }

// outages are the outages of one kind between a manager and a node, in order.
type outages []outage

// reports is more than the time between two reports that a manager hears of a member, or another manager of it: "members
// report each half second" (engine.ManagerConfig), and while no manager answers them, to each manager in turn.
func (n *Net) reports() time.Duration {
	return time.Duration(n.cfg.Managers)*500*time.Millisecond + 200*time.Millisecond
}

// note begins an outage, or ends it. An outage that begins sooner than gap after another one continues that one, because
// no report may get through between them.
func (o *outages) note(out bool, now, gap time.Duration) {
	last := len(*o) - 1
	switch lasts := last >= 0 && (*o)[last].to == machine.Never; {
	case out == lasts:
	case lasts:
		(*o)[last].to = now
	case last >= 0 && now-(*o)[last].to <= gap:
		(*o)[last].to = machine.Never
	default:
		*o = append(*o, outage{now, machine.Never})
	}
}

// during reports whether an outage that overlaps the time t had lasted for length at the end of t, or at its own end
// if that was earlier. What it lasted before the instant born does not count.
func (o outages) during(t outage, length, born time.Duration) bool {
	return slices.ContainsFunc(o, func(x outage) bool {
		return x.from <= t.to && x.to >= t.from && x.to > born && min(x.to, t.to)-max(x.from, born) >= length
	})
}

// path is what a manager and a node could tell each other.
type path struct {
	// silent: the node was down or stopped, or either was slow or had a wrong clock, or so much was lost in one direction
	// that the manager may have heard nothing for seconds. The manager may have been stopped: that is no silence of the
	// node.
	silent outages
	// lossy: single messages may have been lost.
	lossy outages
}

// heavyLoss is the share of lost messages above which all reports of a few seconds may be lost.
const heavyLoss = 0.1

// noteNode records the outages between a node and all managers, and between a manager and all nodes.
func (n *Net) noteNode(id sim.NodeID) {
	for manager := range n.paths {
		n.notePath(sim.NodeID(manager), id)
	}
	if int(id) < len(n.paths) {
		for other := range sim.NodeID(n.cfg.Nodes) {
			n.notePath(id, other)
		}
	}
}

// noteAll records the outages between all managers and all nodes.
func (n *Net) noteAll() {
	for manager := range n.paths {
		for id := range sim.NodeID(n.cfg.Nodes) {
			n.notePath(sim.NodeID(manager), id)
		}
	}
}

// notePath records the outages between a manager and a node. Between a manager and itself there are those in which the
// manager was down.
func (n *Net) notePath(manager, id sim.NodeID) {
	p, m, f, now, gap := &n.paths[manager][id], &n.nodes[manager], &n.nodes[id], n.Now(), n.reports()
	if manager == id {
		p.silent.note(f.down, now, gap)
		return
	}
	cut := n.links.Latest()
	loss, lost := n.loss(cut, manager, id), cut.Apart(manager, id) || cut.Apart(id, manager)
	p.lossy.note(lost || loss > 0, now, gap)
	p.silent.note(lost || loss > heavyLoss || f.down || f.paused || f.slow || f.skewed || m.slow || m.skewed, now, gap)
}

// loss returns the share of messages that links between two nodes lose now, in the worse direction.
func (n *Net) loss(present *kit.LinkState, a, b sim.NodeID) float64 {
	var there, back link.Quality
	if t := n.cfg.Topology; t != nil {
		there, back = *t.Route(a, b).Link, *t.Route(b, a).Link
	}
	return max(present.Quality(there, a, b).Loss, present.Quality(back, b, a).Loss)
}
