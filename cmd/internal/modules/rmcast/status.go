package rmcast

import (
	"errors"
	"syscall"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/statefiles"
	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast"
)

// Status is what a node knows of reliable multicast.
type Status struct {
	NID    nid.NID       `json:"nid"`
	Groups []GroupStatus `json:"groups"`
	Strays uint64        `json:"strays"` // messages of groups that this node is not in
	// Keys is how many there are; Verified counts messages that each has verified since it
	// was read, and NotSigned those that were dropped because they were not signed as they
	// should be.
	Keys      int       `json:"keys"`
	Verified  [2]uint64 `json:"verified"`
	NotSigned uint64    `json:"not_signed"`
}

// GroupStatus is a group at this node.
type GroupStatus struct {
	Name      string    `json:"name"`
	Number    int       `json:"number"`
	Managers  []nid.NID `json:"managers"`
	State     string    `json:"state"` // out, joining, member or leaving
	FIFO      bool      `json:"fifo"`
	Manager   nid.NID   `json:"manager,omitzero"`  // who manages now, as far as is known
	Open      bool      `json:"open"`              // every node can join
	Refused   string    `json:"refused,omitempty"` // why managers refuse this node, as far as they said so
	Own       uint32    `json:"own_number"`        // communication number of this node, 0 without one
	Version   string    `json:"version"`           // of the newest list of members
	Usable    string    `json:"usable"`            // the newest under which may be sent: all on it have it
	Sending   string    `json:"sending"`           // under which this node sends
	Members   []Member  `json:"members"`
	Multicast bool      `json:"multicast"` // otherwise the payload goes down the tree
	Fragment  int       `json:"fragment"`
	Window    int       `json:"window"`
	Limit     int       `json:"limit"` // of datagrams of this node in flight now
	InFlight  int       `json:"in_flight"`
	RTTUS     int64     `json:"rtt_us"`
	Listeners int       `json:"listeners"`
	Faults    Faults    `json:"faults"`
	Streams   []Stream  `json:"streams"`
	// Waits is what origins wait for at this node.
	Waits    []Wait            `json:"waits"`
	Managing *Managing         `json:"managing,omitempty"` // of a node that may manage the group
	Stats    map[string]uint64 `json:"stats,omitempty"`    // rmcast.Stats, with underscores
}

// Member is a member of a list.
type Member struct {
	Number uint32  `json:"number"`
	NID    nid.NID `json:"nid"`
}

// Stream is where the messages of an origin stand at this node. Numbers count
// datagrams.
type Stream struct {
	Origin    nid.NID `json:"origin"`
	Number    uint32  `json:"number"`
	Version   string  `json:"version"`
	Stable    uint64  `json:"stable"`    // all members have those below
	Delivered uint64  `json:"delivered"` // here, those below
	Head      uint64  `json:"head"`      // sent, as far as is known here
}

// Wait is a message of an origin, and the edge of its tree that is waited for.
type Wait struct {
	Origin  nid.NID `json:"origin"`
	Seq     uint64  `json:"seq"`
	SinceUS int64   `json:"since_us"`
	Child   nid.NID `json:"child"`            // of this node, from whom there is no acknowledgement
	Tries   int     `json:"tries"`            // how often it was asked
	Pending bool    `json:"pending"`          // it has the message, and waits itself
	For     nid.NID `json:"for,omitzero"`     // the member that is missing, as far as is known
	Above   nid.NID `json:"above,omitzero"`   // its parent in the tree
	Number  uint32  `json:"number,omitempty"` // of For
}

// Managing is a group as its manager knows it.
type Managing struct {
	Active  bool              `json:"active"` // otherwise it waits its turn
	Alone   bool              `json:"alone"`  // it hears too few members to manage the group, or to be elected
	Version string            `json:"version"`
	Usable  string            `json:"usable"`
	Oldest  string            `json:"oldest"`
	Leaving []nid.NID         `json:"leaving"`
	Gone    []nid.NID         `json:"gone"`
	Stats   map[string]uint64 `json:"stats"`
}

// Faults are shares of messages, from 0 to 1, that this node discards on arrival
// (RM-24).
type Faults struct {
	Group     string  `json:"group,omitempty"`
	Acks      float64 `json:"acks"`
	Datagrams float64 `json:"datagrams"`
}

// Status returns what is known. ESRCH: this node takes no part.
func (m *Module) Status() (Status, error) {
	if m.agent == nil {
		_, err := m.group("")
		return Status{}, err
	}
	s := Status{NID: m.self, Groups: []GroupStatus{}, Strays: m.agent.Strays()}
	k := m.agent.KeyStats()
	s.Keys, s.Verified, s.NotSigned = k.Keys, k.Verified, k.NotSigned
	for _, g := range m.groups {
		s.Groups = append(s.Groups, g.status())
	}
	return s, nil
}

func (g *group) status() GroupStatus {
	g.mu.Lock()
	group, faults, listeners := g.group, g.faults, len(g.listeners)
	g.mu.Unlock()
	s := GroupStatus{
		Name: g.cfg.Name, Number: g.cfg.Number, Managers: g.cfg.Managers, State: "out", FIFO: g.cfg.FIFO, Listeners: listeners,
		Open:    g.admitted() == nil && g.m.cfg.Keys.Len() == 0,
		Faults:  Faults{Acks: faults.Acks, Datagrams: faults.Datagrams},
		Members: []Member{}, Streams: []Stream{}, Waits: []Wait{},
	}
	if group != nil {
		of := group.Status()
		s.fill(&of)
	}
	if m, ok := g.m.agent.Managed(rmcast.GroupID(g.cfg.Number)); ok {
		s.Managing = &Managing{
			Active: m.Active, Alone: m.Alone, Version: m.Version.String(), Usable: m.Usable.String(), Oldest: m.Oldest.String(),
			Leaving: nidsOf(m.Leaving), Gone: nidsOf(m.Gone), Stats: statefiles.Counters(m.Stats),
		}
		if group == nil {
			s.Manager, s.Version = m.Manager, m.Version.String()
			s.members(m.Members)
		}
	}
	return s
}

func nidsOf(ids []rmcast.ID) []nid.NID {
	list := make([]nid.NID, len(ids))
	for i, id := range ids {
		list[i] = id.NID
	}
	return list
}

// fill says how a group that was joined stands.
func (s *GroupStatus) fill(of *rmcast.Status) {
	s.State, s.Manager, s.Own = of.State, of.Manager, of.Number
	if of.Refusal != nil {
		s.Refused = of.Refusal.Error()
	}
	s.Version, s.Usable, s.Sending, s.Multicast = of.Version.String(), of.Usable.String(), of.Sending.String(), of.Multicast
	s.Fragment, s.Window, s.Limit, s.InFlight = of.Fragment, of.Window, of.Limit, of.InFlight
	s.RTTUS, s.Stats = of.RTT.Microseconds(), statefiles.Counters(of.Stats)
	s.members(of.Members)
	numbered := map[uint32]nid.NID{}
	for _, m := range of.Members {
		numbered[m.Number] = m.NID
	}
	for i := range of.Streams {
		t := &of.Streams[i]
		s.Streams = append(s.Streams, Stream{t.Origin.NID, t.Number, t.Version.String(), t.Stable, t.Next, t.Head})
		for _, w := range t.Waits {
			s.Waits = append(s.Waits, Wait{
				Origin: t.Origin.NID, Seq: w.Seq, SinceUS: w.Since.Microseconds(), Child: w.Child.NID, Tries: w.Tries, Pending: w.Pending,
				For: numbered[w.For], Above: numbered[w.Above], Number: w.For,
			})
		}
	}
}

func (s *GroupStatus) members(list []rmcast.Member) {
	for _, m := range list {
		s.Members = append(s.Members, Member{m.Number, m.NID})
	}
}

// SetFaults discards a share of what arrives for a group from now on, also when it
// is joined later. EINVAL: no shares.
func (m *Module) SetFaults(f Faults) error {
	g, err := m.group(f.Group)
	if err != nil {
		return err
	}
	if !(f.Acks >= 0 && f.Acks <= 1 && f.Datagrams >= 0 && f.Datagrams <= 1) { // NaN neither
		return cli.Hint(cli.Errnof(syscall.EINVAL, "want shares from 0 to 1"), "0.05 discards one of twenty")
	}
	g.mu.Lock()
	g.faults = rmcast.Faults{Acks: f.Acks, Datagrams: f.Datagrams}
	group, faults := g.group, g.faults
	g.mu.Unlock()
	if group != nil {
		group.SetFaults(faults)
	}
	return nil
}

// Since is how long a message has waited.
func (w *Wait) Since() time.Duration { return time.Duration(w.SinceUS) * time.Microsecond }

// ExpelRequest says which node's members of a group have ended.
type ExpelRequest struct {
	Group string  `json:"group"`
	NID   nid.NID `json:"nid"`
}

// Expel has the manager on this node take the members on a node for ended. ESRCH: this
// node is none of the group's managers; EREMOTE: another one manages it.
func (m *Module) Expel(r ExpelRequest) error {
	g, err := m.group(r.Group)
	if err != nil {
		return err
	}
	err = g.m.agent.Expel(rmcast.GroupID(g.cfg.Number), r.NID)
	other, ok := errors.AsType[*rmcast.ErrNotManager](err)
	switch {
	case !ok:
		return err
	case other.Manager.IsValid():
		return cli.Hint(cli.Errnof(syscall.EREMOTE, "group %s is managed by %v", r.Group, other.Manager), "expel %v there", r.NID)
	}
	return cli.Hint(cli.Errnof(syscall.ESRCH, "this node is no manager of group %s", r.Group), "managers are %s: expel %v there", cli.NIDList(g.cfg.Managers), r.NID)
}
