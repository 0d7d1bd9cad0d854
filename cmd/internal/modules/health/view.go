package health

import (
	"sync"

	gossipmod "ulnet/cmd/internal/modules/gossip"
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

// view is what client health knows of other servers (health.View). While gossip runs, that is
// what gossip reports. While gossip is stopped, all servers keep their last state, and the view
// is unsure. After gossip has started again, the view stays unsure while it settles. If gossip gives up, its parameters are
// wrong and it says nothing about the others, so the view is unsure and without a quorum: it evicts no clients, neither its own
// nor, as orphans, those of the others. A server that has left the list is sure: it is none of
// the servers any more, and alone.
type view struct {
	gossipmod.Settling

	mu      sync.Mutex
	most    bool               // mu guards this field and all below, except the last two; the agent has heard most servers since it became the source of the view, or waits for none, because it has left the list
	gaveUp  bool               // an agent has given up since the view was last sure
	alive   int                // number of live servers when the view was last sure
	known   int                // number of servers when the view was last sure
	servers []nid.NID          // servers of the view; nil: the participants of gossip
	self    func(nid.NID) bool // reports whether a NID is this node's
}

// newView returns a view of the given servers, or of the participants of gossip if servers is
// nil.
func newView(servers []nid.NID, self func(nid.NID) bool) *view {
	return &view{servers: servers, self: self}
}

// running reports whether there is a gossip agent, even one that has stopped.
func (v *view) running() bool { return v.Agent() != nil }

// sure returns the agent if its reports can be trusted now, otherwise nil.
func (v *view) sure() *gossip.Agent {
	agent := v.Agent()
	if agent == nil || agent.GivenUp() || v.IsSettling() || v.Agent() != agent { // it may have been detached, which ends settling
		return nil
	}
	return agent
}

// Counts implements health.View.
func (v *view) Counts() (alive, known int) {
	agent := v.sure()
	if agent != nil {
		alive, known = v.count(agent)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if agent != nil && !agent.GivenUp() {
		v.alive, v.known, v.most, v.gaveUp = alive, known, v.most || 2*alive > known, false
	}
	return v.alive, v.known
}

// count counts the configured servers; without a list all participants of gossip are servers.
func (v *view) count(agent *gossip.Agent) (alive, known int) {
	if v.servers == nil {
		return agent.Counts()
	}
	for _, id := range v.servers {
		if told, _, _ := v.Look(id); told.Alive || v.self(id) {
			alive++
		}
	}
	return alive, len(v.servers)
}

// Quorum implements health.View. It reports whether more than half of the servers are alive, whatever
// percentage is configured for the quorum of gossip (CH-3).
func (v *view) Quorum() bool {
	alive, known := v.Counts()
	agent := v.Agent()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.gaveUp = v.gaveUp || agent != nil && agent.GivenUp()
	return 2*alive > known && !v.gaveUp
}

// Unsure implements health.Unsure. While gossip is silent after its start, and until it has heard most of the servers, it
// may be that these are silent, too.
func (v *view) Unsure() bool {
	agent := v.sure()
	if agent == nil || agent.Unsure() {
		return true
	}
	v.Counts()
	v.mu.Lock()
	defer v.mu.Unlock()
	return !v.most && agent.Silent()
}

// attach makes an agent of gossip the source of the view.
func (v *view) attach(agent *gossip.Agent) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.Attach(agent)
	v.most = false
}

// Detach removes the agent.
func (v *view) Detach() {
	v.Quorum() // notes whether the agent has given up
	v.Settling.Detach()
}

// look is called from time to time. It notices when the agent has left the list, and when a new agent knows enough.
func (v *view) look() {
	agent := v.Agent()
	if agent == nil {
		return
	}
	s := agent.Status()
	v.mu.Lock()
	if v.Agent() == agent {
		v.most = v.most || s.Left
	}
	v.mu.Unlock()
	v.Advance(agent, &s)
}
