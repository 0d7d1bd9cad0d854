package gossip

import (
	"sync"

	"ulnet/gossip"
	"ulnet/lnet/nid"
)

// Settling is a Tracker for the time after gossip has started again, or has got another list. A server that was alive, or
// presumed so, and that the agent has not heard yet, counts as alive until the agent has heard all such servers, or has run
// so long that it would have heard them, also if they have started gossip at that time and were silent at first. One that is
// dead after that has died once more, and listeners are told so.
//
// Users call Attach and Detach instead of those of Tracker, and Advance from time to time.
type Settling struct {
	Tracker
	OnlyListed bool // only servers on the agent's list can have died; users may presume others alive

	mu       sync.Mutex
	settling bool   // the agent has begun or has another list, and knows too little yet; mu guards this field and all below
	from     uint64 // cycle of the agent in which it became the source of reports
	until    uint64 // cycle of the agent after which settling ends, whatever was heard
	silent   bool   // the agent was silent when it became the source of reports
}

// Attach makes an agent the source of reports.
func (t *Settling) Attach(agent *gossip.Agent) {
	s := agent.Status()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.settling = t.Tracker.Attach(agent)
	t.from, t.until, t.silent = s.Cycle, s.Cycle+uint64(s.Limits.Dead), s.Silent
	if s.Silent || t.OnlyListed {
		t.until += uint64(s.Limits.Stealth) // the others may be silent as long, and have started a little later
	}
}

// relist begins settling anew, because the agent gets another list. A server that is new on it may have been presumed alive,
// and be silent, having just started.
func (t *Settling) relist(agent *gossip.Agent) {
	s := agent.Status()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.Agent() == agent && !s.Stopped {
		t.settling, t.silent = true, false
		t.from, t.until = s.Cycle, s.Cycle+uint64(s.Limits.Stealth+s.Limits.Dead)
	}
}

// Detach removes the agent. From then on, no deaths are detected.
func (t *Settling) Detach() {
	t.Tracker.Detach()
	t.mu.Lock()
	t.settling = false
	t.mu.Unlock()
}

// IsSettling reports whether the agent knows too little yet.
func (t *Settling) IsSettling() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.settling
}

// Alive reports whether a server is alive, and how often it has died. While gossip is stopped, all servers keep their
// last state.
func (t *Settling) Alive(id nid.NID) (bool, uint64) {
	t.mu.Lock()
	settling := t.settling
	told, agent, base := t.Look(id)
	t.mu.Unlock()
	if agent == nil {
		return told.Alive, told.Deaths
	}
	alive, deaths := agent.Alive(id)
	if settling && !alive {
		return told.Alive, max(told.Deaths, base+deaths)
	}
	return alive, base + deaths
}

// Advance ends settling if the agent, whose state is s, knows enough: it reports as alive all servers that were alive, or
// the time for settling has passed. For an agent that has left the list, all others are dead. One that has given up, since
// its parameters are wrong, never knows enough.
func (t *Settling) Advance(agent *gossip.Agent, s *gossip.Status) {
	t.mu.Lock()
	if t.Agent() == agent && t.silent && !s.Silent && s.Cycle <= uint64(s.Limits.Stealth) { // the silence has ended early: others hold this node for dead, so gossip runs there
		t.until = min(t.until, t.from+uint64(s.Limits.Dead))
	}
	over := s.Cycle > t.until
	t.mu.Unlock()
	if s.Left || !s.Stopped {
		t.conclude(agent, s.Left || over && !agent.Unsure())
	}
}

// conclude ends settling if the agent knows enough, or if over is true. In the latter case the servers that it does not
// report as alive count as dead, with one more death each.
func (t *Settling) conclude(agent *gossip.Agent, over bool) {
	if !t.IsSettling() || !over && t.Any(t.missing(agent)) {
		return
	}
	if over {
		t.giveUp(agent)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.Agent() == agent {
		t.settling = false
	}
}

// missing returns a function that reports whether a server was alive and the agent does not report it as alive. The agent
// itself reports the deaths that it has seen, which listeners were not told yet.
func (t *Settling) missing(agent *gossip.Agent) func(nid.NID, Vital) bool {
	return func(id nid.NID, v Vital) bool {
		if !v.Alive || t.isUnlisted(agent, id) {
			return false
		}
		alive, deaths := agent.Alive(id)
		_, _, base := t.Look(id)
		return !alive && base+deaths == v.Deaths
	}
}

// giveUp counts the missing servers as dead.
func (t *Settling) giveUp(agent *gossip.Agent) {
	missing := t.missing(agent)
	t.Update(func(id nid.NID, v Vital) Vital {
		if t.Agent() == agent && missing(id, v) {
			return Vital{Deaths: v.Deaths + 1}
		}
		return v
	})
}

// isUnlisted reports whether the agent cannot say that a server has died, because the server is not on its list.
func (t *Settling) isUnlisted(agent *gossip.Agent, id nid.NID) bool {
	if !t.OnlyListed {
		return false
	}
	_, listed := agent.Explain(id)
	return !listed
}
