package scoll

import (
	"cmp"
	"slices"
	"time"

	"ulnet/cmd/internal/admin"
	"ulnet/cmd/internal/statefiles"
	"ulnet/lnet/latency"
	"ulnet/lnet/nid"
	"ulnet/scoll"
)

// Status is the state of collectives at a node.
type Status struct {
	NID        nid.NID           `json:"nid"`        // NID of this node
	RTTUS      int64             `json:"rtt_us"`     // configured round-trip time in µs
	GuardUS    int64             `json:"guard_us"`   // time that timeouts allow in addition to the RTT, for each level of a tree, in µs
	Tree       string            `json:"tree"`       // tree of the administration service
	Gossip     bool              `json:"gossip"`     // gossip runs, and reports which nodes are alive
	Groups     []GroupStatus     `json:"groups"`     // named groups, sorted by name
	Joined     []JoinedGroup     `json:"joined"`     // groups that this node is a member of
	Broadcasts []BroadcastEntry  `json:"broadcasts"` // broadcasts of this node, the oldest first
	Stats      map[string]uint64 `json:"stats"`      // counters of scoll.Stats, with underscores in the names
	Admin      admin.Stats       `json:"admin"`      // counters of the administration service
	Latency    latency.Snapshot  `json:"latency"`    // how long the broadcasts of this node took, see scoll.Agent.Latency
}

// GroupStatus is the state of a named group.
type GroupStatus struct {
	Name    string `json:"name"`    // name of the group, unique at this node
	Origin  string `json:"origin"`  // where the group comes from: config, gossip or command
	Members int    `json:"members"` // number of members
	Alive   int    `json:"alive"`   // number of members that gossip reports alive
	Tree    string `json:"tree"`    // tree of the group's broadcasts
	// Known means that a broadcast over the group has been sent.
	Known bool      `json:"known"`
	NIDs  []nid.NID `json:"nids"` // NIDs of the members, in the order of ranks
}

// JoinedGroup is a group of which this node is a member.
type JoinedGroup struct {
	ID       string          `json:"id"`        // id of the group, the same on all members
	Service  scoll.ServiceID `json:"service"`   // id of the service that the group is for
	Root     nid.NID         `json:"root"`      // NID of the node that created it
	Members  int             `json:"members"`   // number of members
	Tree     string          `json:"tree"`      // tree of the group's broadcasts
	InFlight int             `json:"in_flight"` // number of the group's broadcasts that are under way at this node
}

// Status returns the state of collectives. ESRCH: this node takes no part.
func (m *Module) Status() (Status, error) {
	c, err := m.enabled()
	if err != nil {
		return Status{}, err
	}
	_, agent := m.gossip.Now()
	s := Status{
		NID: c.self, RTTUS: c.cfg.RTT.Microseconds(), GuardUS: cmp.Or(c.cfg.Guard, max(c.cfg.RTT/4, 5*time.Millisecond)).Microseconds(),
		Tree: c.cfg.AdminTree().String(), Gossip: agent != nil, Groups: []GroupStatus{}, Joined: []JoinedGroup{},
		Broadcasts: c.log.snapshot(), Stats: statefiles.Counters(c.agent.Stats()), Admin: c.admin.Stats(),
		Latency: c.agent.Latency(),
	}
	for _, g := range c.allGroups() {
		s.Groups = append(s.Groups, c.statusOf(g))
	}
	for _, g := range c.agent.Groups() {
		s.Joined = append(s.Joined, JoinedGroup{g.ID.String(), g.Service, g.ID.Creator, g.Nodes, g.Tree.String(), g.InFlight})
	}
	return s, nil
}

// allGroups returns the groups, sorted by name.
func (c *collective) allGroups() (list []*namedGroup) {
	c.groups.mu.Lock()
	for _, g := range c.groups.named { // any order: the list is sorted below
		list = append(list, g)
	}
	all := c.groups.named[AllGroup]
	c.groups.mu.Unlock()
	if all == nil {
		if g, err := c.participants(); err == nil && g != nil {
			list = append(list, g)
		}
	}
	slices.SortFunc(list, func(a, b *namedGroup) int { return cmp.Compare(a.name, b.name) })
	return list
}

func (c *collective) statusOf(g *namedGroup) GroupStatus {
	s := GroupStatus{Name: g.name, Origin: g.origin, Members: len(g.nids), Tree: g.tree.String(), NIDs: g.nids}
	for _, id := range g.nids {
		if id == c.self || c.isAlive(id) {
			s.Alive++
		}
	}
	s.Known = c.groups.isKnown(handleKey{g.name, g.tree, g.members.Digest()})
	return s
}
