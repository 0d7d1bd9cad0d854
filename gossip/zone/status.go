package zone

import (
	"bytes"
	"slices"

	"ulnet/gossip/zone/engine"
	"ulnet/gossip/zone/wire"
)

// Joined reports whether the node is a member.
func (a *Agent) Joined() (is bool) {
	a.runner.Inspect(func() { is = a.m.Joined() })
	return is && !a.closed.Load()
}

// joined calls f with the machine if the node is a member. If the node has left, it does not
// call f: the view then counts as empty, even if the machine remembers members.
func (a *Agent) joined(f func(*engine.Machine)) {
	a.runner.Inspect(func() {
		if a.m.Joined() {
			f(a.m)
		}
	})
}

// Members returns all members in the order of the ring, this node included. Members and the methods
// below return nothing while the node is in no zone.
func (a *Agent) Members() (list []MemberStatus) {
	a.joined(func(m *engine.Machine) { list = m.Members() })
	return list
}

// Attributes returns the attributes of a node in the order in which they were
// written, and the version of its table, 0 if there are none or the node is unknown. The values are copies.
func (a *Agent) Attributes(id ID) (list []Attribute, u uint64) {
	a.joined(func(m *engine.Machine) { list, u = m.Attributes(m.Table().Lookup(id)) })
	for i := range list { // the machine does not change a value that it has, so it can be copied after the step
		list[i].Value = bytes.Clone(list[i].Value)
	}
	return list, u
}

// Find returns the members with a name: usually there is one.
func (a *Agent) Find(name string) (ids []ID) {
	a.joined(func(m *engine.Machine) {
		m.Each(func(p wire.Ref, _ Version) {
			if id := m.Table().ID(p); id.Name() == name {
				ids = append(ids, id)
			}
		})
	})
	return ids
}

// Suspicions returns all reports that were not refuted.
func (a *Agent) Suspicions() (list []SuspicionStatus) {
	a.joined(func(m *engine.Machine) { list = m.Suspicions() })
	return list
}

// Links returns the neighbours.
func (a *Agent) Links() (list []LinkStatus) {
	a.joined(func(m *engine.Machine) { list = m.Links() })
	return list
}

// Census returns what the management zone knows of all base zones (MS-98).
func (a *Agent) Census() (list []CensusEntry) {
	a.joined(func(m *engine.Machine) { list = m.Census() })
	return list
}

// History returns the former members, in the order in which they left.
func (a *Agent) History() (list []GoneStatus) {
	a.runner.Inspect(func() { list = a.m.History() })
	return list
}

// Roster returns the members, as [Agent.Members] does. It also returns the former members, the
// last to leave first, without those of which this node knows only that they said goodbye.
func (a *Agent) Roster() (members []MemberStatus, gone []GoneStatus) {
	a.joined(func(m *engine.Machine) {
		members, gone = m.Members(), m.History()
	})
	gone = slices.DeleteFunc(gone, func(g GoneStatus) bool { return !g.ID.IsValid() })
	slices.Reverse(gone)
	return members, gone
}

// Explain returns all that this node knows of another node. If this node has left, it returns
// what it knew then.
func (a *Agent) Explain(id ID) (x Explanation) {
	a.runner.Inspect(func() { x = a.m.Explain(id) })
	return x
}

// Status is a summary of an agent's state.
type Status struct {
	engine.Status
	Zone       string           `json:"zone"`              // name of the zone
	Self       ID               `json:"self"`              // id of this node
	Threshold  int              `json:"threshold"`         // Θ: how many reporters remove a member
	Successors int              `json:"successors"`        // K_s: ring successors that a node keeps links to
	Random     int              `json:"random"`            // K_r: random members that a node keeps links to
	Bootstrap  int              `json:"bootstrap"`         // number of bootstrap nodes, without this one
	Supervises bool             `json:"supervises"`        // this node is a supervisor, in the management zone
	Delegation DelegationStatus `json:"delegation"`        // what this node does in the hierarchy of zones
	Guarded    []string         `json:"guarded,omitempty"` // base zones that this supervisor guards
	NotSent    uint64           `json:"not_sent"`          // messages that LNet did not take or send
	Keys       int              `json:"keys"`              // number of keys; 0: messages are not signed
	Verified   [2]uint64        `json:"verified"`          // messages that each key has verified
	OtherPID   uint64           `json:"other_pid"`         // messages dropped because their PID is not lnetd's
	StrayBits  uint64           `json:"stray_bits"`        // messages with match bits that are not those of zones
	NotPosted  uint64           `json:"not_posted"`        // buffers that could not be posted at once
}

// Status returns a summary of the state.
func (a *Agent) Status() Status {
	s := Status{NotSent: a.outbox.NotSent(), StrayBits: a.strayBits.Load(), OtherPID: a.otherPID.Load(), NotPosted: a.inbox.NotPosted()}
	a.runner.Inspect(func() {
		c := a.m.Config()
		s.Keys, s.Verified = c.Keys.Len(), a.m.Verified()
		s.Status, s.Zone, s.Self, s.Supervises = a.m.Status(), c.Zone, c.Self, c.Supervisor
		s.Threshold, s.Successors, s.Random, s.Bootstrap = c.Threshold, c.Successors, c.Random, a.m.Bootstrap()
		if !a.m.Joined() { // the machine still has the state of the last incarnation, which counts no more
			s.Members, s.Links, s.Suspects, s.Monitors = 0, 0, 0, 0
			return
		}
		s.Delegation, s.Guarded = a.m.Delegation(), a.m.Guarded()
	})
	return s
}
