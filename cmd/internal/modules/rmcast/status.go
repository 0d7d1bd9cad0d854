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

// Status is the state of reliable multicast at a node.
type Status struct {
	NID    nid.NID       `json:"nid"`    // NID of this node in its groups
	Groups []GroupStatus `json:"groups"` // the groups, in the order of the configuration
	Strays uint64        `json:"strays"` // number of messages for groups that this node is not in
	// NotSent is the number of messages to members and managers, multicasts included, that this node could not send,
	// because LNet failed, or because too many messages waited for a receiver that did not read them.
	NotSent uint64 `json:"not_sent"`
	// RefusalsUnsent counts answers that could not be sent: those of managers on this node to messages that they refuse.
	RefusalsUnsent uint64 `json:"refusals_unsent"`
	// Keys is the number of keys; 0: messages are not signed.
	Keys      int       `json:"keys"`
	Verified  [2]uint64 `json:"verified"`   // number of messages that each key has verified since the key was read
	NotSigned uint64    `json:"not_signed"` // number of messages dropped because their authentication code was missing, wrong or unexpected
}

// GroupStatus is the state of a group at this node.
type GroupStatus struct {
	Name      string    `json:"name"`              // name of the group in the configuration
	Number    int       `json:"number"`            // number of the group
	Managers  []nid.NID `json:"managers"`          // NIDs of the managers, in order of precedence
	State     string    `json:"state"`             // out, joining, member or leaving
	FIFO      bool      `json:"fifo"`              // messages of an origin are delivered in order
	Manager   nid.NID   `json:"manager,omitzero"`  // NID of the active manager, as far as known
	Open      bool      `json:"open"`              // every node can join
	Refused   string    `json:"refused,omitempty"` // why managers refuse this node; "": they do not
	Own       uint32    `json:"own_number"`        // communication number of this node, assigned by a manager; 0: it has none
	Version   string    `json:"version"`           // version of the newest roster
	Usable    string    `json:"usable"`            // newest version under which members may send, because all members of that roster have it
	Sending   string    `json:"sending"`           // version of the roster under which this node sends now
	Members   []Member  `json:"members"`           // members in the newest roster
	Multicast bool      `json:"multicast"`         // payload goes by multicast; false: down the tree
	Fragment  int       `json:"fragment"`          // largest payload of a datagram, in bytes
	Window    int       `json:"window"`            // bound on the datagrams in flight of one origin
	Limit     int       `json:"limit"`             // current limit of this node's datagrams in flight
	InFlight  int       `json:"in_flight"`         // number of this node's datagrams that are not released
	RTTUS     int64     `json:"rtt_us"`            // estimated round-trip time to other members
	Listeners int       `json:"listeners"`         // number of clients that listen
	Faults    Faults    `json:"faults"`            // faults in effect at this node
	Streams   []Stream  `json:"streams"`           // the streams of messages, one for each origin
	// Waits are the messages for which this node waits for an acknowledgement.
	Waits    []Wait            `json:"waits"`
	Managing *Managing         `json:"managing,omitempty"` // state of the manager on this node; nil: there is none
	Stats    map[string]uint64 `json:"stats,omitempty"`    // counters of rmcast.Stats, with underscores in the names
}

// Member is a member in a roster.
type Member struct {
	Number uint32  `json:"number"` // communication number of the member, assigned by a manager
	NID    nid.NID `json:"nid"`    // NID of the member's node
}

// Stream is the state of an origin's messages at this node. Sequence numbers count datagrams.
type Stream struct {
	Origin    nid.NID `json:"origin"`    // NID of the origin's node
	Number    uint32  `json:"number"`    // communication number of the origin, assigned by a manager
	Version   string  `json:"version"`   // version of the roster under which the origin sends
	Stable    uint64  `json:"stable"`    // all members have all datagrams below this number
	Delivered uint64  `json:"delivered"` // all datagrams below this number are delivered here
	Head      uint64  `json:"head"`      // all datagrams below this number were sent, as far as known here
}

// Wait is a message for which an acknowledgement is missing, and the edge of its origin's tree, from parent to child,
// over which the acknowledgement has not come.
type Wait struct {
	Origin  nid.NID `json:"origin"`           // NID of the origin's node
	Seq     uint64  `json:"seq"`              // sequence number of the message's first datagram
	SinceUS int64   `json:"since_us"`         // time since the delivery at this node, in µs
	Child   nid.NID `json:"child"`            // child of this node that has not acknowledged
	Tries   int     `json:"tries"`            // number of polls of the child
	Pending bool    `json:"pending"`          // the child has the message and waits for members below
	For     nid.NID `json:"for,omitzero"`     // the missing member, as far as known
	Above   nid.NID `json:"above,omitzero"`   // NID of the parent of For in the tree
	Number  uint32  `json:"number,omitempty"` // communication number of For
}

// Managing is the state of a manager on this node.
type Managing struct {
	Active  bool              `json:"active"`  // this manager is active; false: it is on standby
	Alone   bool              `json:"alone"`   // the manager hears too few members to manage the group, or to be elected
	Version string            `json:"version"` // version of the newest roster
	Usable  string            `json:"usable"`  // newest version of the roster under which members may send
	Oldest  string            `json:"oldest"`  // oldest version of the roster that members may be using
	Leaving []nid.NID         `json:"leaving"` // nodes whose members are leaving
	Gone    []nid.NID         `json:"gone"`    // nodes whose failed members are still in rosters in use
	Stats   map[string]uint64 `json:"stats"`   // counters of rmcast.ManagerStats, with underscores in the names
}

// Faults are probabilities, from 0 to 1, with which this node discards messages on arrival
// (RM-24).
type Faults struct {
	Group     string  `json:"group,omitempty"` // name of the group
	Acks      float64 `json:"acks"`            // probability of discarding a control message
	Datagrams float64 `json:"datagrams"`       // probability of discarding a multicast datagram
}

// Status returns the state. ESRCH: reliable multicast is not enabled.
func (m *Module) Status() (Status, error) {
	if m.agent == nil {
		_, err := m.group("")
		return Status{}, err
	}
	s := Status{NID: m.self, Groups: []GroupStatus{}, Strays: m.agent.Strays(), NotSent: m.agent.NotSent(), RefusalsUnsent: m.agent.RefusalsUnsent()}
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

// fill copies the state of this node's membership into s.
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

// SetFaults makes this node discard some of the messages that arrive for a group from now on,
// even after it has left and joined again. EINVAL: not probabilities.
func (m *Module) SetFaults(f Faults) error {
	g, err := m.group(f.Group)
	if err != nil {
		return err
	}
	if !(f.Acks >= 0 && f.Acks <= 1 && f.Datagrams >= 0 && f.Datagrams <= 1) { // written so that NaN is refused, too
		return cli.Hint(cli.Errnof(syscall.EINVAL, "want shares from 0 to 1"), "0.05 discards one of twenty")
	}
	g.mu.Lock()
	g.faults = rmcast.Faults{Acks: f.Acks, Datagrams: f.Datagrams}
	group := g.group
	g.mu.Unlock()
	if group != nil {
		g.applyFaults(group.SetFaults)
	}
	return nil
}

// Since returns how long the message has waited.
func (w *Wait) Since() time.Duration { return time.Duration(w.SinceUS) * time.Microsecond }

// ExpelRequest names a node whose members of a group must be expelled, because they have ended.
type ExpelRequest struct {
	Group string  `json:"group"` // name of the group
	NID   nid.NID `json:"nid"`   // NID of the node whose members have ended
}

// Expel tells the manager on this node that the members on the named node have ended. ESRCH:
// this node is not a manager of the group; EREMOTE: another one is active.
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
