package zone

import (
	"slices"
	"time"

	"ulnet/lnet/nid"
)

// stepInput is an [Input] that names nodes by their ids: what stands for a node may
// stand for another one when the input is processed.
type stepInput struct {
	Input
	about ID
	step  uint64 // of the message that failed; 0: of none
}

// effects are what a step wants done, with the addresses of those it is about.
type effects struct {
	Output
	step   uint64
	to     []target // of Sends
	across []target // of Dispatches
	watch  []watch
}

// target is where a message goes.
type target struct {
	id     ID // invalid: no more than the NID is known
	nid    nid.NID
	across bool // to another zone
}

// watch says whether the connection with a node matters from now on.
type watch struct {
	to target
	on bool
}

// Reset empties e and keeps its memory.
func (e *effects) Reset() {
	e.Output.Reset()
	e.to, e.across, e.watch = e.to[:0], e.across[:0], e.watch[:0]
}

// stepper is the machine with ids and addresses for refs, which only whoever steps it
// can tell.
type stepper struct {
	m          *Machine
	nets       []nid.Net // of this node
	step       uint64
	targets    []target // by Ref
	told       map[ID]uint64
	supervisor ID // whose connection matters
}

func newStepper(m *Machine, nets []nid.Net) *stepper {
	return &stepper{m: m, nets: nets, told: make(map[ID]uint64)}
}

// Step implements machine.Machine.
func (s *stepper) Step(now time.Duration, in stepInput, out *effects) time.Duration {
	s.step++
	out.step = s.step
	if s.old(&in) {
		in = stepInput{}
	}
	if in.about.IsValid() {
		in.Node, in.To = s.m.cfg.Table.Lookup(in.about), in.about
	}
	if in.Kind == Leave && s.m.life == joined {
		s.forget(out)
	}
	wake := s.m.Step(now, in.Input, &out.Output)
	for i := range out.Sends {
		send := &out.Sends[i]
		t := target{nid: send.NID}
		if send.To != 0 {
			t = s.target(send.To)
		}
		out.to = append(out.to, t)
	}
	for i := range out.Dispatches {
		out.across = append(out.across, s.abroad(out.Dispatches[i].To))
	}
	s.connections(out)
	return wake
}

// forget tells that all others are gone: a node that left knows of nobody, and in its
// next life they join again (MS-9).
func (s *stepper) forget(out *effects) {
	s.m.Each(func(p Ref, v Version) {
		if p != s.m.self {
			out.Events = append(out.Events, Event{Kind: Left, Cause: Parted, Node: p, ID: s.m.cfg.Table.ID(p), Version: s.m.lastAnnounced(p, v)})
		}
	})
}

// maxTold bounds the failures that are remembered.
const maxTold = 4096

// old reports whether an input tells of a failure before one that was told. When a
// connection ends all that waited on it fails, but that is one loss, after which a
// new connection has to fail as well (MS-A30).
func (s *stepper) old(in *stepInput) bool {
	switch {
	case in.Kind != Down && in.Kind != Failed && in.Kind != DispatchFailed || in.Local:
		return false
	case in.step > 0 && in.step <= s.told[in.about]:
		return true
	}
	if len(s.told) >= maxTold {
		clear(s.told)
	}
	s.told[in.about] = s.step - 1 // what is sent by this step comes after it
	return false
}

// connections says which connections matter: those of links, and that with the
// supervisor of a delegate.
func (s *stepper) connections(out *effects) {
	for _, list := range [][]Ref{out.Watch, out.Ignore} {
		for _, p := range list {
			t := s.target(p)
			if !slices.ContainsFunc(out.watch, func(w watch) bool { return w.to == t }) {
				out.watch = append(out.watch, watch{t, s.m.life == joined && s.m.links.get(p) != nil})
			}
		}
	}
	var chosen ID
	if s.m.delegate != nil && s.m.life == joined {
		chosen = s.m.delegate.chosen
	}
	if chosen != s.supervisor {
		if s.supervisor.IsValid() {
			out.watch = append(out.watch, watch{s.abroad(s.supervisor), false})
		}
		if chosen.IsValid() {
			out.watch = append(out.watch, watch{s.abroad(chosen), true})
		}
		s.supervisor = chosen
	}
}

// target returns where a node of the zone is reached.
func (s *stepper) target(p Ref) target {
	for int(p) >= len(s.targets) {
		s.targets = append(s.targets, target{})
	}
	if t, id := &s.targets[p], s.m.cfg.Table.ID(p); t.id != id {
		*t = target{id: id, nid: s.reach(id)}
	}
	return s.targets[p]
}

func (s *stepper) abroad(id ID) target { return target{id: id, nid: s.reach(id), across: true} }

// reach returns the first NID of a node that is on a network of this one.
func (s *stepper) reach(id ID) nid.NID {
	endpoints := id.Endpoints()
	for _, e := range endpoints {
		if slices.Contains(s.nets, e.Net()) {
			return e
		}
	}
	if len(endpoints) == 0 {
		return nid.NID{}
	}
	return endpoints[0] // there may be a route
}
