package engine

import (
	"slices"
	"time"

	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/wire"
)

// Status is the state of a member.
type Status struct {
	Group     wire.GroupID   // number of the group
	State     string         // out, joining, member or leaving
	Self      wire.ID        // id of this node as a member
	Number    uint32         // communication number of this node, 0 without one
	Manager   nid.NID        // NID of the active manager; invalid: none was heard
	Refusal   error          // why managers refuse this node; nil after an order
	Version   wire.Version   // version of the newest list
	Usable    wire.Version   // newest version that this node may send under
	Sending   wire.Version   // version that this node sends under now
	Versions  int            // number of lists that are kept
	Members   []wire.Member  // members of the newest list, in the order of their numbers
	Multicast bool           // false: payload goes down the tree
	Fragment  int            // largest payload of a datagram, in bytes
	Window    int            // bound on the datagrams in flight of one origin
	Limit     int            // current limit of this node's datagrams in flight (RM-A21)
	InFlight  int            // number of this node's datagrams that are not released
	RTT       time.Duration  // estimated round-trip time to other members
	Streams   []StreamStatus // one for each origin that was heard
	Stats     Stats          // counters since the start
}

// StreamStatus is the state of one origin's messages at this node.
type StreamStatus struct {
	Origin  wire.ID      // id of the member that sends
	Number  uint32       // communication number of Origin, which a manager has assigned
	Version wire.Version // version that Origin sends under
	Stable  uint64       // all members have all datagrams below this number
	Next    uint64       // all datagrams below this number are delivered here
	Head    uint64       // all datagrams below this number were sent, as far as this node knows
	Waits   []Wait       // the children for which a message waits: the oldest one that is delivered here, but not at all members below
}

// Wait is a child in the tree that has not acknowledged a message.
type Wait struct {
	Seq     uint64        // sequence number of the message's first datagram
	Since   time.Duration // time since the delivery at this node
	Child   wire.Member   // the child whose acknowledgement is missing
	Tries   int           // number of polls of the child
	Pending bool          // the child has the message and waits for members below
	For     uint32        // communication number of the missing member, as far as known
	Above   uint32        // communication number of the parent of that member: the edge of the tree that blocks
}

// Stats returns the counters.
func (m *Machine) Stats() Stats { return m.stats }

// Status returns the state after the last step.
func (m *Machine) Status() Status {
	s := Status{
		Group: m.cfg.Group, State: m.state.String(), Self: m.self, Manager: m.manager, Refusal: m.refusal, Usable: m.usable, Versions: len(m.group.rosters),
		RTT: m.rtt.estimate(&m.cfg), Stats: m.stats,
	}
	if r := m.group.latest(); r != nil {
		s.Version, s.Multicast, s.Fragment, s.Window = r.version, !r.tree, r.fragment, r.window
		s.Members = r.members()
		if r.self >= 0 {
			s.Number = r.numbers[r.self]
		}
	}
	if o := m.sender.stream; o != nil {
		s.Sending, s.Limit, s.InFlight = o.roster.version, m.sender.limit, int(o.head-o.stable)
	}
	for _, t := range m.streams {
		if t.roster != nil {
			s.Streams = append(s.Streams, t.status())
		}
	}
	return s
}

func (s *stream) status() StreamStatus {
	st := StreamStatus{Origin: s.origin.id, Number: s.number(), Version: s.roster.version, Stable: s.stable, Next: s.next, Head: s.head}
	for seq, f := range s.delivered() {
		if !f.complete {
			st.Waits = s.waits(seq, f)
			break
		}
	}
	return st
}

func (s *stream) waits(first uint64, f *slot) (list []Wait) {
	shape := s.roster.shape(s.root)
	for _, k := range s.children {
		if s.childHas(k, first, f.count) {
			continue
		}
		ks := k.slot(first)
		w := Wait{
			Seq: first, Since: s.m.now - f.at, Child: wire.Member{ID: s.roster.peers[k.rank].id, Number: s.roster.number(k.rank)},
			Tries: int(ks.tries), Pending: ks.pending, For: s.roster.number(k.rank),
		}
		if ks.pending && k.waits != 0 {
			w.For = k.waits
		}
		if rank := s.roster.numbered(w.For); rank >= 0 {
			if parent, ok := shape.Parent(rank); ok {
				w.Above = s.roster.number(parent)
			}
		}
		list = append(list, w)
	}
	return list
}

// Managing is the state of a manager, active or not.
type Managing struct {
	Group   wire.GroupID  // number of the group
	Active  bool          // this manager is active; otherwise it is on standby
	Manager nid.NID       // NID of the active manager, as far as known
	Version wire.Version  // version of the newest list
	Usable  wire.Version  // newest version that origins may send under
	Oldest  wire.Version  // oldest version that origins may be using
	Alone   bool          // the manager hears too few members to manage the group, or to be elected
	Members []wire.Member // members on the newest list
	Leaving []wire.ID     // members that are leaving
	Gone    []wire.ID     // failed members that are still on lists in use
	Stats   ManagerStats  // counters since the start
}

// Status returns the state of a manager after the last step.
func (g *Manager) Status() Managing {
	s := Managing{
		Group: g.cfg.Group, Active: g.role == active, Manager: g.standby.manager, Version: g.version, Usable: g.usable, Oldest: g.free, Alone: g.alone,
		Members: slices.Clone(g.latest.Members), Stats: g.stats,
	}
	if s.Active {
		s.Manager = g.cfg.Self
	} else {
		s.Members = slices.Clone(g.standby.list.Members)
	}
	for _, m := range g.leavers {
		s.Leaving = append(s.Leaving, m.ID)
	}
	for _, d := range g.departed {
		s.Gone = append(s.Gone, d.id)
	}
	return s
}
