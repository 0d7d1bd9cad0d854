package gossip

import (
	"slices"
	"sync"

	"ulnet/gossip"
	"ulnet/lnet/nid"
	"ulnet/scoll"
)

// An agent of gossip is a scoll.View itself; view is one while no agent runs, too, and
// after another one has started.
var (
	_ scoll.View = (*gossip.Agent)(nil)
	_ scoll.View = (*view)(nil)
)

// view tells collectives which other servers are alive (scoll.View). While gossip runs it
// says what the agent says; otherwise it says that every server is alive, so that
// collectives try all of them.
//
// Each agent counts deaths from 0. The view adds the deaths that earlier agents counted,
// so that a restart of gossip does not look like a death.
type view struct {
	mu      sync.Mutex
	agent   *gossip.Agent      // guarded by mu, like all below; nil: gossip does not run
	unwatch func()             // ends agent's calls of heard
	told    map[nid.NID]vital  // what listeners were told last of each node
	base    map[nid.NID]uint64 // deaths before agent began
	watches []*watch           // the listeners; the slice is copied on each change
}

type watch struct {
	tell func(id nid.NID, alive bool, deaths uint64)
}

type vital struct {
	alive  bool
	deaths uint64
}

func newView() *view {
	return &view{told: map[nid.NID]vital{}, base: map[nid.NID]uint64{}}
}

// Alive implements scoll.View.
func (v *view) Alive(id nid.NID) (bool, uint64) {
	v.mu.Lock()
	agent, base, told := v.agent, v.base[id], v.told[id]
	v.mu.Unlock()
	if agent == nil {
		return true, told.deaths
	}
	if _, participant := agent.Explain(id); !participant {
		return true, told.deaths
	}
	alive, deaths := agent.Alive(id)
	return alive, base + deaths
}

// Watch implements scoll.View and rmcast.View.
func (v *view) Watch(f func(id nid.NID, alive bool, deaths uint64)) (stop func()) {
	w := &watch{f}
	v.mu.Lock()
	v.watches = append(slices.Clone(v.watches), w)
	known := v.sorted()
	v.mu.Unlock()
	for _, id := range known {
		v.mu.Lock()
		s := v.told[id]
		v.mu.Unlock()
		if s.alive {
			f(id, true, s.deaths)
		}
	}
	return func() {
		v.mu.Lock()
		v.watches = slices.DeleteFunc(slices.Clone(v.watches), func(other *watch) bool { return other == w })
		v.mu.Unlock()
	}
}

// attach makes an agent the source of the view. A server that was tried while gossip did
// not run counts as alive until the agent says otherwise.
func (v *view) attach(agent *gossip.Agent) {
	v.begin(agent)
	unwatch := agent.Watch(func(id nid.NID, alive bool, deaths uint64) { v.heard(agent, id, alive, deaths) })
	v.mu.Lock()
	v.unwatch = unwatch
	v.mu.Unlock()
}

// begin makes an agent the current one and remembers the deaths that were counted before it.
func (v *view) begin(agent *gossip.Agent) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.agent = agent
	for id, s := range v.told { // any order: each for itself
		v.base[id] = s.deaths
	}
}

func (v *view) heard(agent *gossip.Agent, id nid.NID, alive bool, deaths uint64) {
	v.mu.Lock()
	if v.agent != agent {
		v.mu.Unlock()
		return
	}
	s := vital{alive, v.base[id] + deaths}
	v.told[id] = s
	watches := v.watches
	v.mu.Unlock()
	for _, w := range watches {
		w.tell(id, s.alive, s.deaths)
	}
}

// detach takes the agent away when gossip stops. From then on it is unknown which servers
// are alive, so the view declares the dead ones alive: collectives try them too.
func (v *view) detach() {
	v.mu.Lock()
	unwatch, watches := v.unwatch, v.watches
	v.agent, v.unwatch = nil, nil
	var dead []nid.NID
	for _, id := range v.sorted() {
		if s := v.told[id]; !s.alive {
			dead = append(dead, id)
			v.told[id] = vital{true, s.deaths}
		}
	}
	v.mu.Unlock()
	if unwatch != nil {
		unwatch()
	}
	for _, id := range dead {
		v.mu.Lock()
		s := v.told[id]
		v.mu.Unlock()
		for _, w := range watches {
			w.tell(id, s.alive, s.deaths)
		}
	}
}

// sorted returns the NIDs of all nodes of which listeners were told. The caller holds v.mu.
func (v *view) sorted() (ids []nid.NID) {
	for id := range v.told { // any order: sorted below
		ids = append(ids, id)
	}
	slices.SortFunc(ids, nid.NID.Compare)
	return ids
}
