package page

import (
	"cmp"
	"slices"

	"ulnet/cmd/internal/modules/health"
	"ulnet/cmd/internal/modules/zone"
	"ulnet/gossip/engine"
	"ulnet/lnet/nid"
	"ulnet/scoll/tree"
)

// maxScan is the number of clients above which none are listed, because reading them keeps client
// health from its work for more than a millisecond.
const maxScan = 10_000

func (s *Sources) gossip() *Gossip {
	status := s.Gossip.Status()
	snapshot := status.Snapshot
	if snapshot == nil {
		return nil
	}
	g := &Gossip{State: string(status.State), Self: snapshot.Self, Quorum: snapshot.Quorum, Alive: snapshot.Alive, Total: snapshot.N}
	for _, p := range snapshot.Participants {
		g.Participants = append(g.Participants, Participant{p.NID, p.Health.String(), p.Age, p.Aliveness})
	}
	alive := engine.Alive.String()
	g.Participants = first(g.Participants, func(a, b Participant) int { return falseLast(a.State != alive, b.State != alive) })
	return g
}

func (s *Sources) zone() *Zone {
	status, err := s.Zone.Status()
	if err != nil {
		return nil
	}
	z := &Zone{Name: status.Zone, State: status.State, Members: status.Members, Suspects: status.Suspects, Links: status.Links}
	members, _ := s.Zone.Members(zone.MemberFilter{}) // fails if the node has left its zone, which then has no members
	for i := range members {
		m := &members[i]
		z.List = append(z.List, Member{m.ID.Name(), m.State, m.Self})
	}
	z.List = first(z.List, func(a, b Member) int { return cmp.Compare(urgency(a.State), urgency(b.State)) })
	census, _ := s.Zone.Census() // fails if the node is no supervisor, which then has no census
	for i := range min(len(census), MaxRows) {
		e := &census[i]
		z.Census = append(z.Census, Census{e.Zone, e.State.String(), e.Size, e.Delegate.Name()})
	}
	return z
}

// urgency orders the states of members for a list.
func urgency(state string) int {
	return slices.Index([]string{"suspected", "dead", "removed", "left", "member"}, state)
}

func (s *Sources) servers() *Servers {
	status, err := s.Health.Status()
	if err != nil || status.Server == nil {
		return nil
	}
	r := status.Server
	h := &Servers{
		State: string(r.State), Quorum: r.Quorum, Draining: r.Draining, Clients: r.Clients, Mastered: r.Mastered,
		Orphaned: r.Orphaned, Evicting: r.Evicting,
	}
	if r.Clients > maxScan {
		return h
	}
	servers, _ := s.Health.Servers() // no servers, and no clients below, while the role waits for gossip
	for i := range min(len(servers), MaxRows) {
		p := &servers[i]
		h.Masters = append(h.Masters, Master{p.NID, p.Alive, p.Self, p.Draining != nil && *p.Draining, p.Clients})
	}
	clients, _ := s.Health.Clients(health.ClientFilter{Limit: MaxRows})
	for i := range clients.Clients {
		c := &clients.Clients[i]
		h.List = append(h.List, ClientNode{c.Client.String(), c.Name, c.Peer.NID, c.State, c.Master})
	}
	return h
}

func (s *Sources) client() *Client {
	status, err := s.Health.Status()
	if err != nil || status.Client == nil {
		return nil
	}
	c := status.Client
	return &Client{State: c.State, Master: c.Master, Attached: len(c.Attached), Servers: len(c.Servers)}
}

func (s *Sources) collectives() *Collectives {
	status, err := s.Scoll.Status()
	if err != nil {
		return nil
	}
	c, running := &Collectives{}, map[string]bool{}
	for i := range status.Joined {
		c.Carried += status.Joined[i].InFlight
	}
	for i := range status.Broadcasts {
		b := &status.Broadcasts[i]
		what := b.Verb
		if b.Action != "" {
			what += " " + b.Action
		}
		if b.Running {
			c.Running++
			running[b.Group] = true
		}
		c.List = append(c.List, Collective{
			b.ID, b.Group, what, b.Began, b.Running, cmp.Or(b.Error, string(b.Status)), b.ElapsedUS, b.Members, b.Reached, b.Unreached,
		})
	}
	for i := range min(len(status.Groups), MaxRows) {
		g := &status.Groups[i]
		group := CollectiveGroup{Name: g.Name, Members: g.Members, Alive: g.Alive, Tree: g.Tree}
		if running[g.Name] {
			group.Branches = branchesOf(g.NIDs, status.NID, g.Tree)
		}
		c.Groups = append(c.Groups, group)
	}
	c.List = first(c.List, func(a, b Collective) int { return cmp.Or(falseLast(a.Running, b.Running), cmp.Compare(b.ID, a.ID)) })
	return c
}

// branchesOf returns the tree of a group with this node as its root; nil if the group is large or this
// node is no member.
func branchesOf(members []nid.NID, self nid.NID, text string) (list []Branch) {
	topology, err := tree.Parse(text)
	root := slices.Index(members, self)
	if err != nil || root < 0 || len(members) > MaxTree {
		return nil
	}
	t := tree.Tree{Topology: topology, N: len(members), Root: root}
	for rank, id := range members {
		parent, below := t.Parent(rank)
		if !below {
			parent = -1
		}
		list = append(list, Branch{id, parent})
	}
	return list
}

func (s *Sources) multicast() (list []Group) {
	status, err := s.Rmcast.Status()
	if err != nil {
		return nil
	}
	for i := range min(len(status.Groups), MaxRows) {
		g := &status.Groups[i]
		list = append(list, Group{g.Name, g.State, len(g.Members), g.Manager, g.InFlight, len(g.Waits)})
	}
	return list
}
