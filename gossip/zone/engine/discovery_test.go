package engine

import (
	"testing"
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/machine"
)

// sole makes a machine with the given number of bootstrap nodes, which the test plays.
func sole(t *testing.T, boots, nodes int) *solo {
	t.Helper()
	var list []wire.ID
	for i := 1; i <= boots; i++ {
		list = append(list, testID(i))
	}
	return newSolo(t, nodes, Config{Bootstrap: append(list, testID(0))})
}

// TestDiscoveryTargets: discovery asks the bootstrap nodes that are not in the view, and the
// nodes of the history that did not say goodbye (MS-11, MS-16, MS-A8).
func TestDiscoveryTargets(t *testing.T) {
	spec.Covers(t, "MS-11", "MS-16", "MS-17", "MS-A8")
	t.Run("MS-11 none", func(t *testing.T) {
		s := sole(t, 0, 2)
		if len(s.out.Sends) > 0 || s.m.discovery.at != machine.Never || s.m.Len() != 1 {
			t.Errorf("sent %v", s.out.Sends)
		}
	})
	t.Run("MS-16 distribution", func(t *testing.T) {
		s := sole(t, 3, 10)
		for i := 1; i < 9; i++ {
			if i != 2 {
				s.alive(i, v(7, 1))
			}
		}
		for i := 3; i < 7; i++ {
			s.removed(i, v(7, 1))
		}
		s.leave(7, v(7, 1), 0) // node 7 has said goodbye
		s.leave(1, v(7, 1), 0) // a bootstrap node has said goodbye
		seen := map[wire.Ref]int{}
		const draws = 6000
		for range draws {
			seen[s.m.target()]++
		}
		want := []int{1, 2, 3, 4, 5, 6}
		for _, i := range want {
			if n := seen[s.ref[i]]; n < draws/12 || n > draws/3 {
				t.Errorf("node %d was drawn %d times of %d", i, n, draws)
			}
		}
		if len(seen) != len(want) {
			t.Errorf("drawn: %v", seen)
		}
	})
	t.Run("MS-17 the flag", func(t *testing.T) {
		s := sole(t, 2, 5)
		if s.count(wire.DiscoveryRequest) != 2 || s.out.Sends[0].Message.Flags&wire.Healing != 0 {
			t.Errorf("sent %+v", s.out.Sends)
		}
		s.alive(1, v(7, 1))
		s.alive(2, v(7, 1))
		s.removed(1, v(7, 1))
		sent := s.pass(time.Second) // the node is a bootstrap node and in the history: it counts as one of the history
		if countKind(sent, wire.DiscoveryRequest) == 0 {
			t.Error("not asked")
		}
		for _, m := range sent {
			if m.Message.Kind == wire.DiscoveryRequest && (m.To != s.ref[1] || m.Message.Flags&wire.Healing == 0) {
				t.Errorf("asked %v with %v", m.To, m.Message.Flags)
			}
		}
	})
}

// TestDiscoveryInterval: discovery sends requests often at first, rarely later, and stops when there
// is no node to send one to (MS-23).
func TestDiscoveryInterval(t *testing.T) {
	spec.Covers(t, "MS-23")
	s := sole(t, 1, 3)
	first := countKind(s.pass(3*time.Second), wire.DiscoveryRequest)
	s.pass(2 * time.Minute)
	last := countKind(s.pass(time.Minute), wire.DiscoveryRequest)
	if first < 3 || first > 6 || last < 4 || last > 8 {
		t.Errorf("%d in the first 3 s, %d in a minute later", first, last)
	}
	n := 0
	s.link(1, v(7, 1))
	for range 60 {
		n += countKind(s.pass(time.Second), wire.DiscoveryRequest)
		s.hear(1, v(7, 1), wire.Message{Kind: wire.Heartbeat})
	}
	if n > 0 || s.m.discovery.at != machine.Never {
		t.Errorf("%d although everybody is known", n)
	}
}

// TestDiscoveryAnswers: requests and answers of discovery, with and without the flags Healing, Third
// and Brief (MS-18 to MS-20, MS-22, MS-A7).
func TestDiscoveryAnswers(t *testing.T) {
	spec.Covers(t, "MS-18", "MS-19", "MS-20", "MS-22", "MS-A7")
	s := sole(t, 1, 9)
	s.alive(3, v(7, 1))
	s.pass(s.m.cfg.Aggregation)
	s.hear(2, v(5, 1), wire.Message{Kind: wire.DiscoveryRequest})
	reply := s.out.Sends[len(s.out.Sends)-1].Message
	if members, _, _ := reply.Lists.View.Size(); reply.Kind != wire.DiscoveryReply || reply.Flags != 0 || members != 3 || s.m.ver != v(10, 1) {
		t.Errorf("answer %+v, own version %v", reply, s.m.ver)
	}
	s.want(Event{Kind: Joined, Node: s.ref[2], Version: v(5, 1)})
	if s.m.links.get(s.ref[2]) != nil {
		t.Error("MS-22: it is a neighbour now")
	}

	s.pass(s.m.cfg.Aggregation)
	s.hear(2, v(5, 2), wire.Message{Kind: wire.DiscoveryRequest, Flags: wire.Healing}) // MS-19: this node, the target of the request, raises its version
	reply = s.out.Sends[len(s.out.Sends)-1].Message
	if reply.Flags != wire.Healing || s.m.ver != v(10, 2) {
		t.Errorf("answer %+v, own version %v", reply, s.m.ver)
	}
	s.delta(2, 0, 0) // the next update has this node's new version, too

	// Now this node is the requester. An answer shows that nodes of its history are alive on the other side of a
	// partition. It asks them at once, at most 8 at a time.
	for i := 4; i < 9; i++ {
		s.alive(i, v(7, 1))
		s.removed(i, v(7, 5))
	}
	s.pass(s.m.cfg.Aggregation)
	s.m.discovery.asked = nil
	other := wire.Lists{}
	for i := 4; i < 9; i++ {
		other.Alive = append(other.Alive, wire.Member{Node: s.ref[i], Version: v(7, 1)})
	}
	s.hear(4, v(7, 6), wire.Message{Kind: wire.DiscoveryReply, Flags: wire.Healing, Lists: &other})
	if s.m.ver != v(10, 3) {
		t.Errorf("own version %v", s.m.ver)
	}
	s.want(Event{Kind: Joined, Node: s.ref[4], Version: v(7, 6)})
	if n := s.count(wire.DiscoveryRequest); n != 4 || s.out.Sends[len(s.out.Sends)-1].Message.Flags != wire.Healing|wire.Brief {
		t.Errorf("%d were asked: %+v", n, s.out.Sends)
	}
	for _, m := range s.out.Sends {
		if m.Message.Kind == wire.DiscoveryReply && m.Message.Flags != wire.Healing|wire.Third {
			t.Errorf("own view with %v", m.Message.Flags)
		}
	}
	if s.count(wire.DiscoveryReply) != 1 || s.m.discovery.interval != s.m.cfg.Retry {
		t.Errorf("%d answers, interval %v", s.count(wire.DiscoveryReply), s.m.discovery.interval)
	}
	s.hear(6, v(7, 6), wire.Message{Kind: wire.DiscoveryReply, Flags: wire.Healing | wire.Brief, Lists: &wire.Lists{Alive: []wire.Member{{Node: s.ref[6], Version: v(7, 6)}}}})
	s.is(6, inView, v(7, 6))
	if s.m.ver != v(10, 4) || s.count(wire.DiscoveryReply) > 0 {
		t.Errorf("own version %v after a brief answer", s.m.ver)
	}
	s.hear(3, v(7, 6), wire.Message{Kind: wire.DiscoveryRequest, Flags: wire.Healing | wire.Brief})
	if r := s.out.Sends[0].Message; r.Flags != wire.Healing|wire.Brief || r.Lists.View != nil || r.Lists.Alive[0] != (wire.Member{Node: s.m.self, Version: v(10, 5)}) {
		t.Errorf("a brief answer: %+v", r)
	}
	s.hear(5, v(7, 6), wire.Message{Kind: wire.DiscoveryReply, Flags: wire.Healing | wire.Third, Lists: &wire.Lists{}})
	if s.m.ver != v(10, 5) || s.count(wire.DiscoveryReply) > 0 {
		t.Error("a third message is answered")
	}
}

// TestHistoryBounds: once it is large the history is pruned by age, and its length is always
// bounded (MS-12, MS-15, MS-A10).
func TestHistoryBounds(t *testing.T) {
	spec.Covers(t, "MS-12", "MS-15", "MS-A4", "MS-A10")
	s := newSolo(t, 8000, Config{})
	gone := func(from, to int) {
		var list []wire.Member
		for i := from; i < to; i++ {
			list = append(list, wire.Member{Node: s.ref[i], Version: v(7, 1)})
		}
		s.update(wire.Lists{Alive: list})
		s.hear(1, v(1, 1), wire.Message{Kind: wire.Base, Flags: wire.Repair, Lists: &wire.Lists{Removed: list}})
		s.unanswered()
	}
	gone(1, 2000)
	if n := s.m.view.gone; n != 1999 { // more than the soft limit: all stay in the history, because they left recently
		t.Errorf("%d in the history", n)
	}
	s.alive(5, v(7, 1)) // a stale version of node 5 is ignored
	s.want()
	for range 120 {
		s.now += time.Second
		s.step(Input{})
	}
	gone(2000, 2001)
	if n := s.m.view.gone; n > softHistoryMin+softHistory || n < softHistoryMin {
		t.Errorf("%d in the history after two minutes", n)
	}
	s.alive(5, v(7, 1)) // the node was forgotten, and is treated as an unknown one
	s.want(Event{Kind: Joined, Node: s.ref[5], Version: v(7, 1)})
	gone(2001, 8000)
	if n := s.m.view.gone; n > hardHistoryMin+2*hardHistory {
		t.Errorf("%d in the history, young as they are", n)
	}

	far := newSolo(t, 3, Config{}) // unknown nodes that left are kept in a bounded list (MS-A4)
	for i := range uint64(3 * maxStrangers) {
		r, err := far.m.cfg.Table.AddShort(1000 + i)
		if err != nil {
			t.Fatal(err)
		}
		far.update(wire.Lists{Leaves: []wire.Departure{{Node: r, Version: v(7, 1), Code: 0}}})
	}
	if n := far.m.view.gone; n != maxStrangers {
		t.Errorf("%d strangers in the history", n)
	}
}

// TestManyIds: a machine with a table of its own removes ids that it does not need, and refuses
// more members than it has room for.
func TestManyIds(t *testing.T) {
	m, err := New(Config{Zone: "test", Self: testID(0), Wire: true, Table: NewTable(300), MaxMembers: 100})
	if err != nil {
		t.Fatal(err)
	}
	out := Output{}
	m.Step(0, Input{Kind: Join, Inc: 1}, &out)
	sender, err := New(Config{Zone: "test", Self: testID(1), Wire: true})
	if err != nil {
		t.Fatal(err)
	}
	to, _ := sender.cfg.Table.Add(testID(0))
	for i := 2; i < 2000; i++ {
		r, err := sender.cfg.Table.Add(testID(i))
		if err != nil {
			t.Fatal(err)
		}
		sender.out, sender.ver = &Output{}, v(1, 1)
		sender.send(to, wire.Message{Kind: wire.DiscoveryReply, Lists: &wire.Lists{Alive: []wire.Member{{Node: sender.self, Version: v(1, 1)}, {Node: r, Version: v(1, 1)}}}})
		sender.encode(0)
		if i == 2 { // make the sender known first
			sender.send(to, wire.Message{Kind: wire.DiscoveryRequest})
			sender.out.Sends[0], sender.out.Sends[1] = sender.out.Sends[1], sender.out.Sends[0]
			sender.out.Buf = nil
			sender.out.Sends = sender.out.Sends[:1]
			sender.encode(0)
		}
		for _, s := range sender.out.Sends {
			out.Reset()
			m.Step(0, Input{Kind: Arrived, Data: sender.out.Buf[s.Begin:s.End]}, &out)
		}
		if err := m.invariants(); err != nil {
			t.Fatal(err)
		}
	}
	s := m.Stats()
	if m.Len() != 100 || s.ViewFull == 0 || s.Collected == 0 || s.TableFull > 0 || m.cfg.Table.Len() > 300 {
		t.Errorf("%d members, %d ids; %+v", m.Len(), m.cfg.Table.Len(), s)
	}
}
