package engine

import (
	"testing"

	"ulnet/gossip/zone/wire"
	"ulnet/lnd/lndtest/spec"
)

// soloSupervisor is a supervisor for which the test plays the delegates, and the nodes that send queries.
type soloSupervisor struct{ *solo }

// newSoloSupervisor makes a supervisor, and registers a delegate of the zone "rack" with it.
func newSoloSupervisor(t *testing.T, activation uint64) soloSupervisor {
	s := soloSupervisor{newSolo(t, 1, Config{Supervisor: true})}
	s.register(activation, wire.Dispatch{Size: 7})
	return s
}

// register delivers a registration of node 1, a delegate of the zone "rack".
func (s soloSupervisor) register(activation uint64, d wire.Dispatch) {
	s.t.Helper()
	d.Kind, d.Zone, d.From, d.Version, d.Activation, d.Registration = wire.Register, "rack", testID(1), v(1, 1), activation, 1
	s.step(Input{Kind: DispatchDelivered, Dispatch: &d})
}

// answer returns the supervisor's answer to a query of another node for the members of the zone "rack".
func (s soloSupervisor) answer() *wire.Dispatch {
	s.t.Helper()
	s.step(Input{Kind: DispatchDelivered, Dispatch: &wire.Dispatch{Kind: wire.Query, Zone: "rack", From: testID(2), Version: v(1, 1), Number: 7}})
	if len(s.out.Dispatches) != 1 || s.out.Dispatches[0].Dispatch.Kind != wire.Answer {
		s.t.Fatalf("the answer is %+v", s.out.Dispatches)
	}
	return s.out.Dispatches[0].Dispatch
}

// own returns the supervisor's answer to its own query for the members of the zone "rack".
func (s soloSupervisor) own() *Event {
	s.t.Helper()
	s.step(Input{Kind: QueryZone, Key: "rack", Number: 7})
	if len(s.out.Events) != 1 || s.out.Events[0].Kind != Listed {
		s.t.Fatalf("the answer is %+v", s.out.Events)
	}
	return &s.out.Events[0]
}

// hashed returns a list of nodes, and its hash.
func hashed(nodes ...int) (list []wire.Named, hash uint64) {
	for _, i := range nodes {
		list = append(list, wire.Named{ID: testID(i), Version: v(1, 1)})
		hash ^= mix(testID(i).Short(), 1)
	}
	return list, hash
}

// TestAnswersOfWrongList: a message with changes of the zone was lost, so the supervisor has a wrong list of the
// members, of the same length as the right one or longer. It does not answer queries as if this list were right
// (MS-99).
func TestAnswersOfWrongList(t *testing.T) {
	spec.Covers(t, "MS-99")
	for _, now := range [][]int{{1, 5, 6}, {1, 5}, {1, 5, 7}, {1, 5, 7, 8}} {
		s := newSoloSupervisor(t, 1)
		known, hash := hashed(1, 5, 6)
		s.register(1, wire.Dispatch{Flags: wire.Whole, Joined: known, Size: 3, Hash: hash})
		_, hash = hashed(now...)
		s.register(1, wire.Dispatch{Size: uint32(len(now)), Hash: hash})
		right := now[len(now)-1] == 6
		if a := s.answer(); len(a.Joined) != 3 || (int(a.Size) == 3) != right || int(a.Size) < len(now) {
			t.Errorf("the members are %v: the supervisor answers with %d members of %d", now, len(a.Joined), a.Size)
		}
		if e := s.own(); len(e.Members) != 3 || (e.Size == 3) != right || e.Size < len(now) {
			t.Errorf("the members are %v: the supervisor answers itself with %d members of %d", now, len(e.Members), e.Size)
		}
	}
}

// TestAnswersWithoutList: a supervisor that has just started hears of a zone first from a delegate that is not the
// active one, so it does not know the members. It does not answer that the zone has none (MS-99).
func TestAnswersWithoutList(t *testing.T) {
	spec.Covers(t, "MS-99")
	s := newSoloSupervisor(t, 0)
	if a := s.answer(); a.Flags&wire.Unknown == 0 {
		t.Errorf("the supervisor answers with %d members of %d", len(a.Joined), a.Size)
	}
	s.m.supervisor.adopt(s.m, &orphan{CensusEntry{Zone: "rack", Supervisor: testID(0)}, s.now}) // from before its restart
	if e := s.own(); !e.Unknown {
		t.Errorf("the supervisor answers itself with %d members of %d", len(e.Members), e.Size)
	}
	_, hash := hashed(1, 2, 3, 4, 5, 6, 7)
	s.register(1, wire.Dispatch{Size: 7, Hash: hash})
	if a := s.answer(); a.Flags&wire.Unknown != 0 || a.Size != 7 {
		t.Errorf("once the active delegate has registered, the supervisor answers with flags %v and size %d", a.Flags, a.Size)
	}
}
