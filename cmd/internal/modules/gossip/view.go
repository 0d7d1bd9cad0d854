package gossip

import (
	"sync"
	"time"

	"ulnet/gossip"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/scoll"
	"ulnet/scoll/rmcast"
)

// An agent of gossip is itself a scoll.View. The type view is one, too, and unlike an agent it can
// still be used when the agent is stopped or replaced.
var (
	_ scoll.View     = (*gossip.Agent)(nil)
	_ scoll.View     = (*view)(nil)
	_ rmcast.Certain = (*gossip.Agent)(nil)
	_ rmcast.Certain = seenView{}
)

// view tells collectives which other servers are alive (scoll.View). While gossip runs, its
// answers are those of the agent. Otherwise every server counts as alive, so that collectives
// try all of them. So does each that counted as alive before, while an agent that has begun anew
// knows too little (Settling), and each that is no participant.
type view struct {
	Settling
	clock machine.Clock

	looking sync.Mutex // held while the agent changes its list, so that advance does not count a server as dead that is new on it

	timing sync.Mutex
	timer  machine.Timer // the latest timer of look; nil: there was none; guarded by timing
}

func newView(clock machine.Clock) *view {
	return &view{Settling: Settling{OnlyListed: true}, clock: clock}
}

// Alive implements scoll.View. A server of which gossip knows nothing counts as alive. Users go by that until listeners are
// told otherwise, so the server settles with the others once it is on the list of an agent.
func (v *view) Alive(id nid.NID) (bool, uint64) {
	unknown := func(agent *gossip.Agent) bool { return agent == nil || v.isUnlisted(agent, id) }
	if deaths, presumed := v.presume(id, unknown); presumed {
		return true, deaths
	}
	return v.Settling.Alive(id)
}

// Ended implements rmcast.Certain. While gossip does not run, no death is certain.
func (v *view) Ended(id nid.NID, ago time.Duration) bool {
	agent := v.Agent()
	return agent != nil && agent.Ended(id, ago)
}

// attach makes an agent the source of the view. A server that counted as alive because gossip
// did not run still does, until the agent reports otherwise or would have heard it.
func (v *view) attach(agent *gossip.Agent) {
	v.Attach(agent)
	v.look(agent)
}

// relist makes an agent change to another list. A server that is new on it, and counted as alive before, still does, until the
// agent would have heard it. It settles also if the change fails, which has no other effect.
func (v *view) relist(agent *gossip.Agent, change func() error) error {
	v.looking.Lock()
	v.Settling.relist(agent)
	err := change()
	v.looking.Unlock()
	v.look(agent)
	return err
}

// look notices when the agent knows enough. Until then it runs once each cycle.
func (v *view) look(agent *gossip.Agent) {
	if v.Agent() != agent {
		return
	}
	s := v.advance(agent)
	if !v.IsSettling() {
		return
	}
	v.timing.Lock()
	defer v.timing.Unlock()
	if v.Agent() == agent {
		if v.timer != nil {
			v.timer.Stop() // if relist has called look, the timer has not
		}
		v.timer = v.clock.AfterFunc(s.Interval, func() { v.look(agent) })
	}
}

// advance ends settling if the agent knows enough. It returns the agent's state.
func (v *view) advance(agent *gossip.Agent) gossip.Status {
	v.looking.Lock()
	defer v.looking.Unlock()
	s := agent.Status()
	if s.Stopped {
		v.conclude(agent, true) // for an agent that has given up, all others are dead
	}
	v.Advance(agent, &s)
	return s
}

// detach removes the agent, because gossip stops. From then on it is unknown which servers are
// alive, so dead ones count as alive, too, and collectives try them.
func (v *view) detach() {
	v.Detach()
	v.timing.Lock()
	if v.timer != nil {
		v.timer.Stop()
	}
	v.timing.Unlock()
	v.Update(func(_ nid.NID, s Vital) Vital { return Vital{true, s.Deaths} })
}

// seenView is the view for managers of reliable multicast. They are told only of deaths that gossip has seen. A server on
// which gossip does not start again may run, and most servers may hear it when it is cut off from this one, so its death
// never becomes certain.
type seenView struct{ *view }

// Watch implements rmcast.View.
func (v seenView) Watch(f func(id nid.NID, alive bool, deaths uint64)) (stop func()) {
	return v.WatchSeen(f)
}
