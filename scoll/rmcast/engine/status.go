package engine

import (
	"slices"
	"time"

	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/wire"
)

// Status tells how a node stands to a group.
type Status struct {
	Group     wire.GroupID
	State     string // out, joining, member or leaving
	Self      wire.ID
	Number    uint32       // communication number, 0 without one
	Manager   nid.NID      // zero: none was heard
	Refusal   error        // why managers take no notice of this node, as far as they said so; nil after an order
	Version   wire.Version // the newest list
	Usable    wire.Version // what may be sent under
	Sending   wire.Version // what is sent under
	Versions  int          // lists that are kept
	Members   []wire.Member
	Multicast bool // otherwise the payload goes down the tree
	Fragment  int  // bytes of payload in a datagram
	Window    int  // datagrams in flight of one origin
	Limit     int  // of this node now (RM-A21)
	InFlight  int  // datagrams of this node that not all have
	RTT       time.Duration
	Streams   []StreamStatus
	Stats     Stats
}

// StreamStatus tells where one origin's messages stand at this node.
type StreamStatus struct {
	Origin  wire.ID
	Number  uint32
	Version wire.Version
	Stable  uint64 // all members have all datagrams below
	Next    uint64 // all below are delivered here
	Head    uint64 // all below were sent, as far as is known here
	Waits   []Wait // of the oldest message that is delivered here, and not below
}

// Wait is a child in the tree that has not acknowledged.
type Wait struct {
	Seq     uint64
	Since   time.Duration // how long
	Child   wire.Member
	Tries   int    // how often it was asked
	Pending bool   // it has the message, and waits itself
	For     uint32 // communication number of the member that is missing, as far as is known
	Above   uint32 // that of its parent in the tree: the edge that is waited for
}

// Stats returns the counters.
func (m *Machine) Stats() Stats { return m.stats }

// Status describes the state as of the last step.
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
		if ks.pending && k.who != 0 {
			w.For = k.who
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

// Managing describes a group that this node manages, or would.
type Managing struct {
	Group   wire.GroupID
	Active  bool    // otherwise it waits its turn
	Manager nid.NID // who manages, as far as that is known
	Version wire.Version
	Usable  wire.Version // what may be sent under
	Oldest  wire.Version // what may still be in use
	Alone   bool         // it hears too few members to manage the group, or to be elected
	Members []wire.Member
	Leaving []wire.ID
	Gone    []wire.ID // failed, in versions that may be in use
	Stats   ManagerStats
}

// Status describes a manager as of its last step.
func (g *Manager) Status() Managing {
	s := Managing{
		Group: g.cfg.Group, Active: g.role == active, Manager: g.standby.manager, Version: g.version, Usable: g.usable, Oldest: g.free, Alone: g.alone,
		Members: slices.Clone(g.latest.Members), Stats: g.stats,
	}
	if s.Active {
		s.Manager = g.cfg.Self
	} else {
		s.Members = slices.Clone(g.standby.members)
	}
	for _, m := range g.leavers {
		s.Leaving = append(s.Leaving, m.ID)
	}
	for _, d := range g.departed {
		s.Gone = append(s.Gone, d.id)
	}
	return s
}
