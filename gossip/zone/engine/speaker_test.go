package engine

import (
	"testing"

	"ulnet/gossip/zone/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// spoken delivers a message of another zone that comes from the given NID of a node with the given primary NID.
func (s *solo) spoken(peer, primary nid.NID, d wire.Dispatch) {
	s.t.Helper()
	s.step(Input{Kind: Arrived, Data: s.m.codec.AppendDispatch(nil, &d, s.m.cfg.Self), Peer: peer, Primary: primary})
}

func testNID(i int) nid.NID { return testID(i).Endpoints()[0] }

// TestAnswerInAnothersName: a node sends answers in the name of a delegate's supervisor. They do not count, unless no
// message of the supervisor has come from a NID of its id yet, or discovery says that the NIDs are those of one node
// (MS-A24).
func TestAnswerInAnothersName(t *testing.T) {
	spec.Covers(t, "MS-A24")
	own, other, primary := testNID(1), testNID(7), testNID(8)
	for what, tt := range map[string]struct {
		first, known nid.NID // where the first answer comes from, and the primary NID that discovery says for it
		then, says   nid.NID // the same for the second answer
		counts       bool
	}{
		"own NID":             {first: own, then: own, counts: true},
		"another one":         {first: own, then: other},
		"its primary NID":     {first: own, then: other, says: own, counts: true},
		"another of the node": {first: own, known: primary, then: other, says: primary, counts: true},
		"another node":        {first: own, known: primary, then: other, says: other},
		"of another node":     {first: own, known: other, then: other, says: primary},
		"always from there":   {first: other, then: other, counts: true},
		"own NID at last":     {first: other, then: own, counts: true},
	} {
		s := newSolo(t, 1, Config{Management: []wire.ID{testID(1)}})
		s.pass(10 * s.m.cfg.Aggregation)
		answer := wire.Dispatch{Kind: wire.Registered, Zone: "test", From: testID(1), Version: v(3, 1), Known: 8, Joined: []wire.Named{{ID: testID(1), Version: v(3, 1)}}}
		s.spoken(tt.first, tt.known, answer)
		if s.m.delegate.known != 8 {
			t.Fatalf("%s: the first answer does not count", what)
		}
		answer.Known, answer.Joined = 9, []wire.Named{{ID: testID(9), Version: v(3, 1)}}
		s.spoken(tt.then, tt.says, answer)
		if counts := s.m.delegate.known == 9; counts != tt.counts || s.m.stats.OtherNID == 0 != tt.counts {
			t.Errorf("%s: the second answer counts: %v, %d ignored", what, counts, s.m.stats.OtherNID)
		}
	}
}

// TestDelegateInAnothersName: a node sends a supervisor messages in the name of a delegate that is registered there.
// They change nothing. A registration that it invents before the delegate registers gives way to the delegate's own
// (MS-97, MS-101).
func TestDelegateInAnothersName(t *testing.T) {
	spec.Covers(t, "MS-97", "MS-101")
	s := newSolo(t, 1, Config{Supervisor: true})
	register := wire.Dispatch{Kind: wire.Register, Zone: "rack", From: testID(1), Version: v(3, 1), Activation: 1, Registration: 1, Size: 5}
	invented := register
	invented.Version, invented.Size = v(1<<60, 1), 6
	s.spoken(testNID(7), nid.NID{}, invented)
	s.spoken(testNID(1), nid.NID{}, register)
	is := func(what string) {
		t.Helper()
		if c := s.m.Census(); len(c) != 1 || c[0].Delegate != testID(1) || c[0].Size != 5 {
			t.Errorf("%s: census %+v", what, c)
		}
	}
	is("a registration before the delegate's")
	for _, d := range []wire.Dispatch{
		invented,
		{Kind: wire.Unregister, Zone: "rack", From: testID(1), Version: v(3, 1)},
		{Kind: wire.Alarm, Zone: "rack", From: testID(1), Version: v(3, 1), About: testID(5), AboutVersion: v(1, 1), Reporters: 1},
	} {
		before := s.m.stats.OtherNID
		s.spoken(testNID(7), nid.NID{}, d)
		is("afterwards")
		if len(s.out.Events)+len(s.out.Dispatches) > 0 || s.m.stats.OtherNID != before+1 {
			t.Errorf("%v: told %+v, sent %+v", d.Kind, s.out.Events, s.out.Dispatches)
		}
	}
	s.spoken(testNID(1), nid.NID{}, wire.Dispatch{Kind: wire.Unregister, Zone: "rack", From: testID(1), Version: v(3, 1)})
	if len(s.m.Census()) != 0 {
		t.Error("the delegate's own goodbye does not count")
	}
}

// TestLateGoodbye: the first registration of a delegate's new incarnation comes from a NID that its id lacks. A goodbye
// of its earlier incarnation, which comes late from a NID of its id, does not end that registration (MS-97).
func TestLateGoodbye(t *testing.T) {
	spec.Covers(t, "MS-97")
	s := newSolo(t, 1, Config{Supervisor: true})
	s.spoken(testNID(7), nid.NID{}, wire.Dispatch{Kind: wire.Register, Zone: "rack", From: testID(1), Version: v(5, 1), Activation: 1, Registration: 1, Size: 5})
	s.spoken(testNID(1), nid.NID{}, wire.Dispatch{Kind: wire.Unregister, Zone: "rack", From: testID(1), Version: v(4, 1)})
	if len(s.m.Census()) != 1 || s.m.stats.Stale != 1 {
		t.Errorf("census %+v, %d late messages", s.m.Census(), s.m.stats.Stale)
	}
}

// TestMemberInAnothersName: a node sends a supervisor queries and alarms in the name of other nodes. The alarms of
// a neighbour must come from the neighbour, and the answers to queries do not go to nodes that did not ask (MS-99,
// MS-101).
func TestMemberInAnothersName(t *testing.T) {
	spec.Covers(t, "MS-99", "MS-101")
	s := newSolo(t, 3, Config{Supervisor: true})
	s.link(1, v(3, 1))
	s.alive(2, v(3, 1))
	s.spoken(testNID(5), nid.NID{}, wire.Dispatch{Kind: wire.Register, Zone: "rack", From: testID(5), Version: v(3, 1), Activation: 1, Registration: 1, Size: 5})
	for _, tt := range []struct {
		kind   wire.DispatchKind
		as, by int
		counts bool
	}{
		{wire.Alarm, 1, 1, true},
		{wire.Alarm, 1, 7, false},
		{wire.Alarm, 2, 7, true}, // no neighbour: this supervisor does not know from which NIDs it sends
		{wire.Query, 1, 1, true},
		{wire.Query, 1, 7, false},
		{wire.Query, 2, 7, true},
		{wire.Query, 9, 9, true},
		{wire.Query, 9, 7, false},
	} {
		before := s.m.stats.OtherNID
		s.spoken(testNID(tt.by), nid.NID{}, wire.Dispatch{Kind: tt.kind, Zone: "rack", From: testID(tt.as), Version: v(3, 1), About: testID(6), AboutVersion: v(1, 1), Reporters: 1, Number: 4})
		if counts := len(s.out.Events)+len(s.out.Dispatches) > 0; counts != tt.counts || s.m.stats.OtherNID == before != tt.counts {
			t.Errorf("%v as %d by %d: told %+v, sent %+v", tt.kind, tt.as, tt.by, s.out.Events, s.out.Dispatches)
		}
	}
}
