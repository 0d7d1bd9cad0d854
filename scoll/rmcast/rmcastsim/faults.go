package rmcastsim

import (
	"cmp"
	"time"

	"ulnet/lnd/sim"
	"ulnet/lnet/machine"
)

// never is an instant before all others.
const never = -machine.Never

// nodeFaults is the ground truth about a node.
type nodeFaults struct {
	down, paused, slow, skewed bool
	begunAt                    time.Duration // when the present process began
}

// note records an act that concerns a node.
func (f *nodeFaults) note(a *sim.Act) {
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
		f.skewed = a.PPM > skewed || a.PPM < -skewed
	}
}

// skewed is how far a clock may be wrong, in µs per second, before that excuses anything. Timeouts that have to be in
// some proportion to one another differ by more than this.
const skewed = 10_000

// happened records an act.
func (n *Net) happened(a *sim.Act) {
	switch a.Verb {
	case sim.Kill, sim.Crash, sim.Pause, sim.Resume, sim.Slow, sim.Skew:
		n.nodes[a.Node].note(a)
		n.noteNode(a.Node)
	default:
		n.links.Happens(a, n.Now(), n.cfg.Nodes)
		n.noteAll()
	}
}

// mayExpel reports whether a manager may have left a member behind at any time since an instant, or shortly before,
// because "it is silent for `member_timeout`", or because "it does not answer when a manager is elected"
// (docs/multicast.md).
func (n *Net) mayExpel(id sim.NodeID, since time.Duration) bool {
	limit := n.cfg.Manager.Filled().MemberTimeout
	since -= n.takeovers() + max(limit, 0)
	return limit > 0 && n.wasSilent(id, limit, since) || n.unanswered(id, since)
}

// wasSilent reports whether the active manager may have heard nothing of a node, or the node nothing of that manager, for
// a time that ended after an instant.
func (n *Net) wasSilent(id sim.NodeID, length, since time.Duration) bool {
	changed := len(n.elections(since)) > 0
	for manager := range sim.NodeID(len(n.paths)) {
		if m, _ := n.managing(manager); manager != id && (changed || m.Active) && n.silent(manager, id, length, since) {
			return true
		}
	}
	return false
}

// silent does the same for one manager, active or not.
func (n *Net) silent(manager, id sim.NodeID, length, since time.Duration) bool {
	return n.paths[manager][id].silent.during(outage{since, n.Now()}, length-n.reports(), n.nodes[id].begunAt)
}

// unanswered reports whether a manager may have been elected since an instant, and had no answer of a node. The question
// or the answer was lost; or the node was stopped for as long as a manager waits; or its death was reported to a
// manager, and not yet that it has come back: "a manager that [...] takes over, may count it as dead" (docs/multicast.md).
func (n *Net) unanswered(id sim.NodeID, since time.Duration) bool {
	wait, born := n.cfg.Manager.Filled().Collect*9/10, n.nodes[id].begunAt
	for _, x := range n.elections(since) {
		if n.oracle.news[id] >= x.from && born <= x.to {
			return true
		}
		for manager := range n.paths {
			if p := &n.paths[manager][id]; sim.NodeID(manager) != id && (p.lossy.during(x, 0, born) || p.silent.during(x, wait, born)) {
				return true
			}
		}
	}
	return false
}

// elections returns the times since an instant at which a manager may have been elected. They begin when a manager
// was down, or when one did not hear another for long enough, and last until the managers must have agreed again. "A
// manager that has not heard the active one for three seconds (the second in the list for six, and so on) asks the
// members whether it may take over. They agree if they have not heard the active manager for two seconds either, or if
// gossip is certain that it is dead" (docs/multicast.md).
func (n *Net) elections(since time.Duration) (all outages) {
	silence := n.cfg.Manager.Filled().Takeover - n.reports()
	if n.cfg.Gossip {
		silence = min(silence, n.cfg.Discovery/2-n.cfg.Discovery/looks) // see gossip.silence
	}
	for manager := range n.paths {
		for other := range n.paths {
			for _, x := range n.paths[manager][other].silent {
				to := min(x.to, n.Now())
				if to+n.takeovers() >= since && (manager == other || to-x.from >= silence) {
					all = append(all, outage{x.from, to + n.takeovers()})
				}
			}
		}
	}
	return all
}

// takeovers is how long managers may take until one of them is active, and has asked all members: each waits for its
// turn, and one that finds no majority asks again after five times Takeover.
func (n *Net) takeovers() time.Duration {
	m := n.cfg.Manager.Filled()
	return time.Duration(n.cfg.Managers+5)*m.Takeover + 4*m.Collect
}

// mayHeal reports whether a member may give its membership up now. It does so when its "manager is silent for ten
// seconds, and another manager with a list of its own speaks to it" (docs/multicast.md): it did not hear a manager, or
// another one was elected.
func (n *Net) mayHeal(id sim.NodeID) bool {
	limit := cmp.Or(n.cfg.Rmcast.HealAfter, 10*time.Second)
	since := n.Now() - n.takeovers() - limit
	return n.wasSilent(id, limit, since) || len(n.elections(since)) > 0
}
