package engine

import (
	"testing"

	"ulnet/gossip/zone/wire"
	"ulnet/lnd/lndtest/spec"
)

// inParts sends a dispatch from one machine to another, in parts of little more than the least size of a message.
func inParts(t *testing.T, from, to *Machine, d *wire.Dispatch) []DispatchSend {
	t.Helper()
	from.cfg.MaxMessage, from.out = wire.MinMessage+500, &Output{}
	from.dispatch(testID(0), d, false)
	for i, s := range from.out.Dispatches {
		if s.Size > from.cfg.MaxMessage {
			t.Errorf("part %d has %d bytes", i, s.Size)
		}
		if s.Rest != (i > 0) {
			t.Errorf("part %d continues another one: %v", i, s.Rest)
		}
		to.Step(1, Input{Kind: Arrived, Data: from.out.Buf[s.Begin:s.End]}, &Output{})
	}
	return from.out.Dispatches
}

// TestRestartsInParts: many members restart and others leave, so that the changes of the zone are too long for one
// message. The supervisor removes the members that left before it adds those that joined, so it knows the restarted
// members afterwards (MS-97).
func TestRestartsInParts(t *testing.T) {
	spec.Covers(t, "MS-97")
	to, from := codecs(t)
	for _, m := range []*Machine{to, from} {
		m.cfg.Supervisor, m.out = true, &Output{}
		m.join(3)
	}
	all := &wire.Dispatch{Kind: wire.Register, Flags: wire.Whole, Zone: "rack", Activation: 5, Registration: 1}
	changes := &wire.Dispatch{Kind: wire.Register, Zone: "rack", Activation: 5, Registration: 1}
	for i := range 100 {
		id := testID(i + 10)
		all.Joined = append(all.Joined, wire.Named{ID: id, Version: v(1, 1)})
		changes.Left = append(changes.Left, wire.Named{ID: id, Version: v(1, 1)})
		if i < 60 { // the others do not come back
			changes.Joined = append(changes.Joined, wire.Named{ID: id, Version: v(2, 1)})
		}
	}
	inParts(t, from, to, all)
	g := to.supervisor.zones["rack"]
	if len(g.members) != 100 {
		t.Fatalf("%d members", len(g.members))
	}
	if parts := len(inParts(t, from, to, changes)); parts < 10 || len(g.members) != 60 {
		t.Errorf("after %d parts with changes the supervisor knows %d members", parts, len(g.members))
	}
	for id, at := range g.members { // any order
		if at != v(2, 1) {
			t.Errorf("%v is %v", id, at)
		}
	}
}

// TestRestOfList: of a list in several messages, all but the first continue another one (MS-A32).
func TestRestOfList(t *testing.T) {
	spec.Covers(t, "MS-A32")
	_, from := codecs(t)
	from.cfg.MaxMessage, from.codec.MaxBytes = wire.MinMessage, wire.MinMessage
	l := &wire.Lists{}
	for range 200 {
		l.Alive = append(l.Alive, wire.Member{Node: from.cfg.Table.Lookup(testID(2)), Version: v(1, 1)})
	}
	encoded(t, from, wire.Message{Kind: wire.Update, Lists: l})
	if n := len(from.out.Sends); n < 2 {
		t.Fatalf("%d parts", n)
	}
	for i, s := range from.out.Sends {
		if s.Rest != (i > 0) {
			t.Errorf("part %d continues another one: %v", i, s.Rest)
		}
	}
}
