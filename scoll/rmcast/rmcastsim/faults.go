package rmcastsim

import (
	"cmp"
	"math"
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/sim"
)

// nodeFaults is the ground truth about a node.
type nodeFaults struct {
	down, paused, slow, skewed bool
	last                       time.Duration // when one of the four states above last ended; never: none has ended
}

// never is an instant before all others.
const never = time.Duration(math.MinInt64)

// note records an act that concerns a node.
func (f *nodeFaults) note(a *sim.Act, now time.Duration) {
	switch a.Verb {
	case sim.Kill, sim.Crash:
		f.down, f.paused = f.down || a.Changes, f.paused && !a.Changes
	case sim.Pause:
		f.paused = f.paused || a.Changes
	case sim.Resume:
		f.paused = false
	case sim.Slow:
		f.slow = a.Extra > 0
	case sim.Skew:
		f.skewed = a.PPM != 0
	}
	f.last = now
}

// impaired reports whether a node was down, paused, slow or skewed at any time since an instant.
func (f *nodeFaults) impaired(since time.Duration) bool {
	return f.down || f.paused || f.slow || f.skewed || f.last >= since
}

// happened records an act.
func (n *Net) happened(a *sim.Act) {
	switch a.Verb {
	case sim.Kill, sim.Crash, sim.Pause, sim.Resume, sim.Slow, sim.Skew:
		n.nodes[a.Node].note(a, n.Now())
	default:
		n.links.Happens(a, n.Now(), n.cfg.Nodes)
	}
}

// apart reports whether, at any time since an instant, messages between two nodes were lost.
func (n *Net) apart(a, b sim.NodeID, since time.Duration) bool {
	var there, back link.Quality
	if t := n.cfg.Topology; t != nil {
		there, back = *t.Route(a, b).Link, *t.Route(b, a).Link
	}
	for s := range n.links.Since(since) {
		if s.Apart(a, b) || s.Apart(b, a) || s.Quality(there, a, b).Loss > 0 || s.Quality(back, b, a).Loss > 0 {
			return true
		}
	}
	return false
}

// grace is how long after a fault a member can be left behind because of it: "a member that is
// silent for `member_timeout`, or does not answer when a manager is elected, is left behind"
// (docs/multicast.md), and "a manager that has not heard the active one for three seconds (the
// second in the list for six, and so on) asks the members whether it may take over".
func (n *Net) grace() time.Duration {
	m := n.cfg.Manager.Filled()
	return max(m.MemberTimeout, 0) + time.Duration(n.cfg.Managers)*m.Takeover + m.Collect + m.FirstAck
}

// mayExpel reports whether a manager may have left a member behind at any time since an instant:
// the member was impaired not long before, was cut off from a manager, or has restarted and not
// all managers have heard of that.
func (n *Net) mayExpel(id sim.NodeID, since time.Duration) bool {
	if since <= n.oracle.news[id] {
		return true
	}
	since -= n.grace()
	for manager := range sim.NodeID(n.cfg.Managers) {
		if manager != id && n.apart(id, manager, since) {
			return true
		}
	}
	return n.nodes[id].impaired(since)
}

// mayHeal reports whether a member may give its membership up now. It does so when its "manager is silent for ten
// seconds, and another manager with a list of its own speaks to it" (docs/multicast.md). Giving up is right only if
// the node, a manager, or the link between them had a fault.
func (n *Net) mayHeal(id sim.NodeID) bool {
	since := n.Now() - n.grace() - cmp.Or(n.cfg.Rmcast.HealAfter, 10*time.Second)
	for manager := range sim.NodeID(n.cfg.Managers) {
		if manager != id && n.apart(id, manager, since) || n.nodes[manager].impaired(since) {
			return true
		}
	}
	return n.nodes[id].impaired(since)
}
