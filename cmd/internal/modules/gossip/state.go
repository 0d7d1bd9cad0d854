package gossip

import (
	"syscall"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/gossip"
	"ulnet/gossip/engine"
	gossipwire "ulnet/gossip/wire"
	"ulnet/lnet/nid"
)

// keptPast is how many changes of earlier agents are kept.
const keptPast = 1024

// State is a word for what gossip does at a node.
type State string

// The states.
const (
	Unconfigured State = "none"      // gossip has no parameters
	Stopped      State = "stopped"   // gossip has parameters and does not run
	Running      State = "running"   // this node takes part in gossip
	Excluded     State = "excluded"  // gossip has given up: other participants have other parameters, or a new list does not contain this node
	Listening    State = "listening" // this node takes part, but is still silent after its start
)

// Status is the state of gossip, and what gossip knows.
type Status struct {
	State    State          `json:"state"`              // none, stopped, running, excluded or listening
	Snapshot *gossip.Status `json:"snapshot,omitempty"` // state of the agent; nil: there is none
}

// Params are the parameters in force, with defaults filled in.
type Params struct {
	State      State   `json:"state"`          // none, stopped, running, excluded or listening
	Version    int     `json:"version"`        // version of the protocol
	Self       nid.NID `json:"self,omitzero"`  // the NID of this node that takes part
	IntervalMS int64   `json:"interval_ms"`    // time between gossip cycles, in milliseconds
	RTTMS      float64 `json:"rtt_ms"`         // estimated round-trip time of the network, in milliseconds
	N          int     `json:"n"`              // number of participants
	Digest     string  `json:"digest"`         // digest of the list of participants
	Threshold  int     `json:"threshold"`      // age in cycles above which a participant is dead
	Fudge      int     `json:"fudge"`          // cycles of tolerance, see gossip.Config.Fudge
	Obsolete   int     `json:"obsolete"`       // units of the Lamport clock after which messages are obsolete
	Stealth    int     `json:"stealth"`        // cycles for which a node is silent after its start
	Quorum     int     `json:"quorum_percent"` // there is a quorum while more than this percentage of the participants is alive
	ColdStart  bool    `json:"cold_start"`     // the node was not silent after its start
	Strict     bool    `json:"strict"`         // gossip does exactly what the design says
	Seed       uint64  `json:"seed"`           // seed of the random choices
	Keys       int     `json:"keys"`           // number of keys by which messages are signed and verified; 0: every message is believed
}

// Change is something that happened in gossip. The history and the watch of gossipctl print it
// as JSON, and event handlers get it.
type Change struct {
	Source    string           `json:"source"`              // source of the event: config.GossipSource
	Time      time.Time        `json:"time"`                // time of the change, by the wall clock
	Clock     uint64           `json:"clock"`               // the Lamport clock of this node at that time
	Event     gossip.EventKind `json:"event"`               // what happened
	NID       nid.NID          `json:"nid,omitzero"`        // the participant that the event is about; none for events of this node
	Aliveness uint64           `json:"aliveness,omitempty"` // how often the participant has died
}

// Status returns the state of gossip, and what gossip knows.
func (m *Module) Status() Status {
	setup, agent := m.now()
	return statusOf(setup, agent)
}

// Now returns the list of participants, nil before an init, and the agent, nil if gossip does
// not run.
func (m *Module) Now() (*engine.List, *gossip.Agent) {
	setup, agent := m.now()
	if setup == nil {
		return nil, agent
	}
	return setup.list, agent
}

// now returns the parameters, nil before an init, and the agent, nil if there is none.
func (m *Module) now() (*settings, *gossip.Agent) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.setup, m.agent
}

func statusOf(setup *settings, agent *gossip.Agent) Status {
	switch {
	case agent != nil:
		s := agent.Status()
		return Status{stateOf(&s), &s}
	case setup != nil:
		return Status{State: Stopped}
	}
	return Status{State: Unconfigured}
}

func stateOf(s *gossip.Status) State {
	switch {
	case s.Stopped:
		return Excluded
	case s.Silent:
		return Listening
	}
	return Running
}

// Params returns the parameters. ESRCH: there was no init.
func (m *Module) Params() (Params, error) {
	setup, agent := m.now()
	if setup == nil {
		return Params{}, cli.Hint(cli.Errnof(syscall.ESRCH, "gossip has no parameters yet"),
			"'gossipctl init' sets them, or the section gossip of the configuration of lnetd")
	}
	return setup.params(statusOf(setup, agent)), nil
}

// params returns the parameters in force, which are those of the agent if there is one.
func (s *settings) params(now Status) Params {
	limits, _ := s.cfg.Engine().Limits(s.list.Len()) // cannot fail: init has checked the number
	p := Params{
		State: now.State, Version: gossipwire.Version, IntervalMS: s.cfg.Interval.Milliseconds(), RTTMS: float64(s.cfg.RTT) / float64(time.Millisecond),
		N: s.list.Len(), Digest: s.list.Digest().String(), Quorum: s.asked.Quorum,
		ColdStart: s.cfg.ColdStart, Strict: s.cfg.Strict, Seed: s.cfg.Seed, Keys: s.cfg.Keys.Len(),
	}
	if running := now.Snapshot; running != nil {
		p.Self, p.N, p.Digest, p.Keys, limits = running.Self, running.N, running.Digest, running.Keys, running.Limits
	}
	p.Threshold, p.Fudge, p.Obsolete, p.Stealth = limits.Dead, limits.Fudge, limits.Obsolete, limits.Stealth
	return p
}

// History returns the last changes, the oldest first, those of agents
// that were stopped included.
func (m *Module) History() []Change {
	m.mu.Lock()
	agent, changes := m.agent, append([]Change{}, m.past...)
	m.mu.Unlock()
	if agent != nil {
		changes = append(changes, m.changes(agent)...)
	}
	return changes
}

// changes returns the changes that an agent remembers, with wall-clock times.
func (m *Module) changes(agent *gossip.Agent) (list []Change) {
	began := m.began()
	for _, c := range agent.History() {
		list = append(list, newGossipChange(began, c))
	}
	return list
}

func newGossipChange(began time.Time, e gossip.Event) Change {
	return Change{config.GossipSource, began.Add(e.At), e.Clock, e.Kind, e.NID, e.Aliveness}
}

// began returns the wall-clock time at which the node's clock began. It returns the same time in
// every call, unless the system's time was set, so that the times of changes stay the same, too.
func (m *Module) began() time.Time {
	began := time.Now().Round(0).Add(-m.Clock.Now())
	m.mu.Lock()
	defer m.mu.Unlock()
	if diff := began.Sub(m.epoch); diff < -time.Second || diff > time.Second {
		m.epoch = began
	}
	return m.epoch
}

// Explain returns why gossip considers a participant alive or dead. ESRCH: gossip does not run.
// ENOENT: the node is no participant.
func (m *Module) Explain(id nid.NID) (gossip.Explanation, error) {
	agent, err := m.running()
	if err != nil {
		return gossip.Explanation{}, err
	}
	e, ok := agent.Explain(id)
	if !ok {
		return e, cli.Hint(cli.Errnof(syscall.ENOENT, "%v is no participant", id), "'gossipctl status' lists them")
	}
	return e, nil
}

// happened passes an event to the event handlers, with the time that the history has for it.
func (m *Module) happened(e gossip.Event) {
	m.Handlers.Tell(config.GossipSource+"."+e.Kind.String(), newGossipChange(m.began(), e))
}
