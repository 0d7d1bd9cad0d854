package node

import (
	"syscall"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/gossip"
	gossipwire "ulnet/gossip/wire"
	"ulnet/lnet/nid"
)

// keptPast is how many changes of earlier agents are kept.
const keptPast = 1024

// GossipState is a word for what gossip does at a node.
type GossipState string

// The states.
const (
	GossipNone      GossipState = "none"      // it has no parameters
	GossipStopped   GossipState = "stopped"   // it has parameters and does not run
	GossipRunning   GossipState = "running"   // it takes part
	GossipExcluded  GossipState = "excluded"  // it has given up, because others have other parameters or the new list is without it
	GossipListening GossipState = "listening" // it is silent after its start
)

// GossipStatus is what is known by gossip.
type GossipStatus struct {
	State    GossipState      `json:"state"`
	Snapshot *gossip.Snapshot `json:"snapshot,omitempty"` // while there is an agent
}

// GossipParams are the parameters in force.
type GossipParams struct {
	State  GossipState   `json:"state"`
	Params gossip.Params `json:"params"`
	NIDs   []nid.NID     `json:"nids"` // in their order
}

// GossipChange is something that happened in gossip: what the history and the watch of
// gossipctl print as JSON, and what event handlers get.
type GossipChange struct {
	Source    string           `json:"source"` // config.GossipSource
	Time      time.Time        `json:"time"`
	Clock     uint64           `json:"clock"`
	Event     gossip.EventKind `json:"event"`
	NID       nid.NID          `json:"nid,omitzero"`
	Aliveness uint64           `json:"aliveness,omitempty"` // how often it has died
}

// GossipStatus returns what is known.
func (n *Node) GossipStatus() GossipStatus {
	setup, agent := n.gossip.now()
	return statusOf(setup, agent)
}

// now returns the parameters and the agent, nil for none.
func (g *gossiper) now() (*gossipSetup, *gossip.Agent) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.setup, g.agent
}

func statusOf(setup *gossipSetup, agent *gossip.Agent) GossipStatus {
	switch {
	case agent != nil:
		s := agent.Snapshot()
		return GossipStatus{stateOf(&s), &s}
	case setup != nil:
		return GossipStatus{State: GossipStopped}
	}
	return GossipStatus{State: GossipNone}
}

func stateOf(s *gossip.Snapshot) GossipState {
	switch {
	case s.Stopped:
		return GossipExcluded
	case s.Silent:
		return GossipListening
	}
	return GossipRunning
}

// GossipParams returns the parameters. ESRCH: there was no init.
func (n *Node) GossipParams() (GossipParams, error) {
	setup, agent := n.gossip.now()
	if setup == nil {
		return GossipParams{}, cli.Hint(gossipFailure(syscall.ESRCH, "gossip has no parameters yet"),
			"'gossipctl init' sets them, or the section gossip of the configuration of lnetd")
	}
	p := GossipParams{State: statusOf(setup, agent).State, Params: setup.params(agent)}
	for i := range setup.list.Len() {
		p.NIDs = append(p.NIDs, setup.list.NID(i))
	}
	return p, nil
}

// params returns the parameters in force: of the agent, if there is one.
func (s *gossipSetup) params(agent *gossip.Agent) gossip.Params {
	if agent != nil {
		return agent.Params()
	}
	limits, _ := s.cfg.Limits(s.list.Len()) // init has checked it
	return gossip.Params{
		Version: gossipwire.Version, IntervalMS: s.cfg.Interval.Milliseconds(), RTTMS: float64(s.cfg.RTT) / float64(time.Millisecond),
		N: s.list.Len(), Digest: s.list.Digest().String(), Limits: limits, Quorum: s.asked.Quorum,
		ColdStart: s.cfg.ColdStart, Strict: s.cfg.Strict, Seed: s.cfg.Seed, Keys: s.cfg.Keys.Len(),
	}
}

// GossipHistory returns the last changes, the oldest first, those of agents
// that were stopped included.
func (n *Node) GossipHistory() []GossipChange {
	g := &n.gossip
	g.mu.Lock()
	agent, changes := g.agent, append([]GossipChange{}, g.past...)
	g.mu.Unlock()
	if agent != nil {
		changes = append(changes, g.changes(agent)...)
	}
	return changes
}

// changes returns what an agent remembers, with times.
func (g *gossiper) changes(agent *gossip.Agent) (list []GossipChange) {
	began := g.began()
	for _, c := range agent.History() {
		list = append(list, newGossipChange(began, c))
	}
	return list
}

func newGossipChange(began time.Time, c gossip.Change) GossipChange {
	return GossipChange{config.GossipSource, began.Add(c.At), c.Clock, c.Event, c.NID, c.Aliveness}
}

// began returns when the clock began. It is the same each time, so that the
// times of changes are, unless the system's time was set.
func (g *gossiper) began() time.Time {
	began := time.Now().Round(0).Add(-g.clock.Now())
	g.mu.Lock()
	defer g.mu.Unlock()
	if diff := began.Sub(g.epoch); diff < -time.Second || diff > time.Second {
		g.epoch = began
	}
	return g.epoch
}

// GossipExplain tells why a participant is thought to be alive or dead. ESRCH:
// gossip does not run. ENOENT: it is no participant.
func (n *Node) GossipExplain(id nid.NID) (gossip.Explanation, error) {
	agent, err := n.gossip.running()
	if err != nil {
		return gossip.Explanation{}, err
	}
	e, ok := agent.Explain(id)
	if !ok {
		return e, cli.Hint(gossipFailure(syscall.ENOENT, id.String()+" is no participant"), "'gossipctl status' lists them")
	}
	return e, nil
}
