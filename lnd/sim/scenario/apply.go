package scenario

import (
	"time"

	"ulnet/lnd/sim"
)

// apply carries out the action a.
func (r *runner) apply(a *action, now time.Duration) {
	c := r.inst
	switch a.verb {
	case "partition":
		sets := make([]sim.NodeSet, len(a.sets))
		for i, s := range a.sets {
			sets[i] = s.Of
		}
		c.Partition(sets...)
	case "cut":
		c.Cut(a.nodes.Of, a.to.Of)
	case "stall":
		c.Stall(a.nodes.Of, a.to.Of, a.time)
	case "heal":
		c.Heal()
	case "link":
		c.SetLink(a.nodes.Of, a.to.Of, a.change)
	case "links":
		c.ResetLinks()
	case "access":
		c.SetAccessRate(a.nodes.Of, a.rate)
	default:
		for id := range a.nodes.Of.All(c.Nodes()) {
			r.applyTo(id, a, now)
		}
	}
}

// applyTo does what an action says to one node.
func (r *runner) applyTo(id sim.NodeID, a *action, now time.Duration) {
	c := r.inst
	switch a.verb {
	case "kill":
		delete(r.paused, id)
		c.Kill(id)
	case "crash":
		delete(r.paused, id)
		c.Crash(id)
	case "restart":
		c.Start(id, a.keep)
	case "pause":
		c.Pause(id)
		if delete(r.paused, id); a.time > 0 {
			r.resumeAt(id, now+a.time)
		}
	case "resume":
		delete(r.paused, id)
		c.Resume(id)
	case "skew":
		c.SetSkew(id, a.ppm)
	case "slow":
		c.SetSlow(id, a.time)
	case "do":
		c.Command(id, a.command)
	}
}

// resumeAt ends a pause at an instant, unless something else ends it before.
func (r *runner) resumeAt(id sim.NodeID, at time.Duration) {
	r.paused[id] = at
	r.inst.At(at, func() {
		if r.paused[id] == at {
			delete(r.paused, id)
			r.inst.Resume(id)
		}
	})
}
