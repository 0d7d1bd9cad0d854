package engine

import (
	"slices"
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnet/nid"
)

// AddressedInput is an [Input] that names nodes by their ids: a Ref may stand for another
// node by the time the input is processed.
type AddressedInput struct {
	Input
	About wire.ID // with Down, Failed and Remove: the id of the node, because a Ref could stand for another node by then
	Sent  uint64  // Step of the output that contained the failed message; 0: the input is not about a message
}

// AddressedOutput is the output of a step, with addresses instead of refs.
type AddressedOutput struct {
	Output
	Step        uint64       // number of the step, counted from 1
	To          []Target     // receivers of the messages in Sends
	Across      []Target     // receivers of the messages in Dispatches
	Connections []Connection // connections to watch or to ignore from now on, in order
}

// Target is where a message goes.
type Target struct {
	ID     wire.ID // id of the receiver; invalid: only the NID is known
	NID    nid.NID // the endpoint to send to
	Across bool    // the receiver is in another zone
}

// Connection says whether the connection with a node matters from now on.
type Connection struct {
	To      Target // the peer of the connection
	Matters bool   // true: the caller must report the loss of the connection; false: it need not any more
}

// Reset empties e and keeps its memory.
func (e *AddressedOutput) Reset() {
	e.Output.Reset()
	e.To, e.Across, e.Connections = e.To[:0], e.Across[:0], e.Connections[:0]
}

// Addressed steps a [Machine]. Its inputs and outputs name nodes by ids and addresses instead of
// refs. The machine has a table to itself: only the owner of the table can translate refs.
type Addressed struct {
	m          *Machine
	nets       []nid.Net // networks that this node is on
	step       uint64
	targets    []Target // the address of each node, by its Ref
	told       map[wire.ID]uint64
	supervisor wire.ID // the supervisor whose connection to this node is watched
}

// NewAddressed returns a machine that steps m, and whose inputs and outputs name nodes by ids
// and NIDs. nets are the networks of this node: it sends messages to another node's first NID on
// one of them, if the other node has such a NID.
func NewAddressed(m *Machine, nets []nid.Net) *Addressed {
	return &Addressed{m: m, nets: nets, told: make(map[wire.ID]uint64)}
}

// Steps is the number of the last step.
func (s *Addressed) Steps() uint64 { return s.step }

// Step implements machine.Machine.
func (s *Addressed) Step(now time.Duration, in AddressedInput, out *AddressedOutput) time.Duration {
	s.step++
	out.Step = s.step
	if s.old(&in) {
		in = AddressedInput{}
	}
	if in.About.IsValid() {
		in.Node, in.To = s.m.cfg.Table.Lookup(in.About), in.About
	}
	if in.Kind == Leave && s.m.phase == joined {
		s.forget(out)
	}
	wake := s.m.Step(now, in.Input, &out.Output)
	for i := range out.Sends {
		send := &out.Sends[i]
		t := Target{NID: send.NID}
		if send.To != 0 {
			t = s.target(send.To)
		}
		out.To = append(out.To, t)
	}
	for i := range out.Dispatches {
		out.Across = append(out.Across, s.abroad(out.Dispatches[i].To))
	}
	s.connections(out)
	return wake
}

// forget reports all other members as gone, because the view of a node that left is empty. In
// the node's next incarnation the others join again (MS-9).
func (s *Addressed) forget(out *AddressedOutput) {
	s.m.Each(func(p wire.Ref, v wire.Version) {
		if p != s.m.self {
			out.Events = append(out.Events, Event{Kind: Left, Cause: Parted, Node: p, ID: s.m.cfg.Table.ID(p), Version: s.m.LastAnnounced(p, v)})
		}
	})
}

// maxTold bounds the number of nodes whose latest failure is remembered.
const maxTold = 4096

// old reports whether an input is the failure of a message that was sent before the latest
// known failure. When a connection ends, all its queued messages fail, and that counts as one
// failure. The next failure that counts is of a message on a new connection (MS-A30).
func (s *Addressed) old(in *AddressedInput) bool {
	switch {
	case in.Kind != Down && in.Kind != Failed && in.Kind != DispatchFailed || in.Local:
		return false
	case in.Sent > 0 && in.Sent <= s.told[in.About]:
		return true
	}
	if len(s.told) >= maxTold {
		clear(s.told)
	}
	s.told[in.About] = s.step - 1 // if a message of this very step fails too, that is another failure
	return false
}

// connections reports the connections whose loss matters from now on, or no longer: those to
// nodes with which this node has a link, and the one from a delegate to its supervisor.
func (s *Addressed) connections(out *AddressedOutput) {
	for _, list := range [][]wire.Ref{out.Watch, out.Ignore} {
		for _, p := range list {
			t := s.target(p)
			if !slices.ContainsFunc(out.Connections, func(c Connection) bool { return c.To == t }) {
				out.Connections = append(out.Connections, Connection{t, s.m.phase == joined && s.m.links.get(p) != nil})
			}
		}
	}
	var chosen wire.ID
	if s.m.delegate != nil && s.m.phase == joined {
		chosen = s.m.delegate.chosen
	}
	if chosen != s.supervisor {
		if s.supervisor.IsValid() {
			out.Connections = append(out.Connections, Connection{s.abroad(s.supervisor), false})
		}
		if chosen.IsValid() {
			out.Connections = append(out.Connections, Connection{s.abroad(chosen), true})
		}
		s.supervisor = chosen
	}
}

// target returns where a node of the zone is reached.
func (s *Addressed) target(p wire.Ref) Target {
	for int(p) >= len(s.targets) {
		s.targets = append(s.targets, Target{})
	}
	if t, id := &s.targets[p], s.m.cfg.Table.ID(p); t.ID != id {
		*t = Target{ID: id, NID: s.reach(id)}
	}
	return s.targets[p]
}

func (s *Addressed) abroad(id wire.ID) Target { return Target{ID: id, NID: s.reach(id), Across: true} }

// reach returns the first NID of another node that is on a network of this node.
func (s *Addressed) reach(id wire.ID) nid.NID {
	endpoints := id.Endpoints()
	for _, e := range endpoints {
		if slices.Contains(s.nets, e.Net()) {
			return e
		}
	}
	if len(endpoints) == 0 {
		return nid.NID{}
	}
	return endpoints[0] // not on a net of this node, but there may be a route
}
