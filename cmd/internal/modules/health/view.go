package health

import (
	"slices"
	"sync"
	"time"

	"ulnet/gossip"
	"ulnet/health"
	"ulnet/lnet/nid"
)

var (
	_ health.View   = (*gossip.Agent)(nil)
	_ health.Unsure = (*gossip.Agent)(nil)
	_ health.View   = (*view)(nil)
	_ health.Unsure = (*view)(nil)
)

// view is what client health knows of other servers (health.View): what
// gossip says while it runs. When it is stopped, all stays as it was and is
// unsure, also for a while after it has started again: until it sees all who were
// alive, or would have noticed who is dead.
//
// Each run of gossip counts deaths from 0; the view goes on counting, so that
// another run is not taken for deaths. A death that no run has seen counts as one.
type view struct {
	telling sync.Mutex // held while watch is called; never taken with mu held

	mu       sync.Mutex
	agent    *gossip.Agent // guarded by mu, like all below but the last two; nil: gossip does not run
	unwatch  func()        // ends agent's telling
	excluded bool          // agent has given up
	settling bool          // agent is not the first one, and knows too little yet
	until    time.Duration // then that is over
	told     map[nid.NID]vital
	base     map[nid.NID]uint64 // deaths before agent began
	alive    int                // as of the last time that it was sure
	known    int
	watch    func(nid.NID, vital) // nil: nobody listens
	servers  []nid.NID            // nil: the participants of gossip
	self     func(nid.NID) bool   // whether a NID is this node's
}

// newView returns a view of some servers, nil for the participants of
// gossip.
func newView(servers []nid.NID, self func(nid.NID) bool) *view {
	return &view{told: map[nid.NID]vital{}, base: map[nid.NID]uint64{}, servers: servers, self: self}
}

// running reports whether gossip runs, and ran.
func (v *view) running() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.agent != nil
}

// Alive implements health.View.
func (v *view) Alive(id nid.NID) (bool, uint64) {
	v.mu.Lock()
	agent, base, told, settling := v.agent, v.base[id], v.told[id], v.settling
	v.mu.Unlock()
	if agent == nil {
		return told.alive, told.deaths
	}
	alive, deaths := agent.Alive(id)
	if settling && !alive {
		return told.alive, max(told.deaths, base+deaths)
	}
	return alive, base + deaths
}

// sure returns the agent, if it can be believed.
func (v *view) sure() *gossip.Agent {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.settling || v.excluded {
		return nil
	}
	return v.agent
}

// Counts implements health.View.
func (v *view) Counts() (alive, known int) {
	agent := v.sure()
	if agent != nil {
		alive, known = v.count(agent)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if agent != nil {
		v.alive, v.known = alive, known
	}
	return v.alive, v.known
}

// count counts the servers, where these are not all who gossip.
func (v *view) count(agent *gossip.Agent) (alive, known int) {
	if v.servers == nil {
		return agent.Counts()
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, id := range v.servers {
		if v.told[id].alive || v.self(id) {
			alive++
		}
	}
	return alive, len(v.servers)
}

// Quorum implements health.View: more than half, whatever percentage gossip has
// (CH-3).
func (v *view) Quorum() bool {
	alive, known := v.Counts()
	return 2*alive > known
}

// Unsure implements health.Unsure.
func (v *view) Unsure() bool {
	agent := v.sure()
	return agent == nil || agent.Unsure()
}

// Watch implements health.View, for one listener.
func (v *view) Watch(f func(id nid.NID, alive bool, deaths uint64)) (stop func()) {
	v.telling.Lock()
	defer v.telling.Unlock()
	v.mu.Lock()
	v.watch = func(id nid.NID, s vital) { f(id, s.alive, s.deaths) }
	now := v.snapshot()
	v.mu.Unlock()
	for _, e := range now {
		if e.alive {
			f(e.id, true, e.deaths)
		}
	}
	return func() {
		v.mu.Lock()
		v.watch = nil
		v.mu.Unlock()
	}
}

// heardOf is what was told of a server.
type heardOf struct {
	id nid.NID
	vital
}

// snapshot returns what was told, by NID. The caller holds v.mu.
func (v *view) snapshot() (list []heardOf) {
	for id, s := range v.told { // any order: sorted below
		list = append(list, heardOf{id, s})
	}
	slices.SortFunc(list, func(a, b heardOf) int { return a.id.Compare(b.id) })
	return list
}

// attach has an agent of gossip tell from now on.
func (v *view) attach(agent *gossip.Agent, now time.Duration) {
	s := agent.Status()
	v.mu.Lock()
	v.settling = len(v.told) > 0
	v.until = now + time.Duration(s.Threshold+1)*s.Interval
	v.agent, v.excluded = agent, false
	for id, s := range v.told { // any order: each for itself
		v.base[id] = s.deaths
	}
	v.mu.Unlock()
	unwatch := agent.Watch(func(id nid.NID, alive bool, deaths uint64) { v.heard(agent, id, alive, deaths) })
	v.mu.Lock()
	v.unwatch = unwatch
	v.mu.Unlock()
}

func (v *view) heard(agent *gossip.Agent, id nid.NID, alive bool, deaths uint64) {
	v.telling.Lock()
	defer v.telling.Unlock()
	v.mu.Lock()
	if v.agent != agent {
		v.mu.Unlock()
		return
	}
	s := vital{alive, v.base[id] + deaths}
	v.told[id] = s
	watch := v.watch
	v.mu.Unlock()
	if watch != nil {
		watch(id, s)
	}
}

// detach ends the telling of the agent: from then on nobody knows who dies.
func (v *view) detach() {
	v.mu.Lock()
	unwatch := v.unwatch
	v.agent, v.unwatch, v.settling = nil, nil, false
	v.mu.Unlock()
	if unwatch != nil {
		unwatch()
	}
}

// look is called now and then: it notices that the agent has given up, or knows
// enough after a start.
func (v *view) look(now time.Duration) {
	v.mu.Lock()
	agent, settling, until := v.agent, v.settling, v.until
	v.mu.Unlock()
	if agent == nil {
		return
	}
	s := agent.Status()
	v.mu.Lock()
	if v.agent == agent {
		v.excluded = s.Stopped
	}
	v.mu.Unlock()
	if settling && !s.Stopped {
		v.settle(agent, now >= until)
	}
}

// settle ends the time after a start, when it is over or all who were alive are.
// Who is not has died meanwhile. It is told with telling held, so that nothing
// else is told at the same time.
func (v *view) settle(agent *gossip.Agent, over bool) {
	v.telling.Lock()
	defer v.telling.Unlock()
	v.mu.Lock()
	all := v.snapshot()
	v.mu.Unlock()
	dead := slices.DeleteFunc(all, func(e heardOf) bool {
		alive, _ := agent.Alive(e.id)
		return alive || !e.alive
	})
	if len(dead) > 0 && !over {
		return
	}
	v.mu.Lock()
	if v.agent != agent {
		v.mu.Unlock()
		return
	}
	v.settling = false
	for i := range dead {
		e := &dead[i]
		e.vital = vital{false, e.deaths + 1}
		v.told[e.id] = e.vital
		v.base[e.id]++
	}
	watch := v.watch
	v.mu.Unlock()
	for _, e := range dead {
		if watch != nil {
			watch(e.id, e.vital)
		}
	}
}

// vital is what was told of a server.
type vital struct {
	alive  bool
	deaths uint64
}
