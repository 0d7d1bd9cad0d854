package engine

import (
	"testing"
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnd/lndtest/spec"
)

// passedOn delivers an update of node 1 with the goodbye of node 2.
func (s *solo) passedOn(v wire.Version, code int32) {
	s.t.Helper()
	s.update(wire.Lists{Leaves: []wire.Departure{{Node: s.ref[2], Version: v, Code: code}}})
}

// TestGoodbyeOfOthers: this node gets the goodbye of a member from another node. It passes the goodbye on early, and
// removes the member only after the time in which the member could refute it. If the member itself sends the goodbye,
// this node removes it at once (MS-40, MS-A3, MS-A33).
func TestGoodbyeOfOthers(t *testing.T) {
	spec.Covers(t, "MS-40", "MS-A3", "MS-A33")
	told := func(t *testing.T) *solo {
		s := acquainted(t, 9, Config{})
		s.link(1, v(7, 3))
		s.pass(time.Second)
		s.passedOn(v(7, 3), 4)
		s.want()
		s.is(2, inView, v(7, 3))
		s.delta(0, 1, 0)
		return s
	}
	gone := Event{Kind: Left, Cause: Said, Code: 4}
	t.Run("passed on early", func(t *testing.T) {
		s := told(t)
		s.passedOn(v(7, 3), 4)
		s.delta(0, 1, 0)
		if n := countKind(s.pass(25*time.Millisecond), wire.Update); n != 1 {
			t.Errorf("%d updates after τ/8", n)
		}
		s.passedOn(v(7, 3), 4)
		s.delta(0, 0, 0)
	})
	t.Run("not refuted", func(t *testing.T) {
		s := told(t)
		s.pass(s.m.relayGrace() - 5*time.Millisecond)
		s.is(2, inView, v(7, 3))
		s.pass(5 * time.Millisecond)
		gone.Node, gone.Version = s.ref[2], v(7, 3)
		s.want(gone)
		s.is(2, inHistory, v(7, 3))
	})
	t.Run("refuted", func(t *testing.T) {
		s := told(t)
		s.pass(s.m.relayGrace() - 5*time.Millisecond)
		s.alive(2, v(7, 4))
		if n := countKind(s.pass(25*time.Millisecond), wire.Update); n != 1 {
			t.Errorf("the refutation was passed on in %d updates after τ/8", n)
		}
		s.pass(time.Second)
		s.is(2, inView, v(7, 4))
	})
	t.Run("a newer one has the whole time", func(t *testing.T) {
		s := told(t)
		s.pass(s.m.relayGrace() - 5*time.Millisecond)
		s.passedOn(v(7, 5), 4)
		s.pass(s.m.relayGrace() - 5*time.Millisecond)
		s.is(2, inView, v(7, 3))
		s.pass(5 * time.Millisecond)
		s.is(2, inHistory, v(7, 5))
	})
	t.Run("its own", func(t *testing.T) {
		s := told(t)
		s.leave(2, v(7, 3), 4)
		gone.Node, gone.Version = s.ref[2], v(7, 3)
		s.want(gone)
	})
	t.Run("an administrator's", func(t *testing.T) {
		s := told(t)
		s.step(Input{Kind: Remove, Node: s.ref[3]})
		s.want(Event{Kind: Left, Node: s.ref[3], Version: v(7, 3), Cause: Said, Code: CodeRemoved})
		s.delta(0, 2, 0)
	})
}

// TestWaitingGoodbye: while a goodbye that another node passed on waits, reports say that the member has failed, or a
// new incarnation of it joins. The member then counts as one that has left, not as one that has failed. A node that
// becomes a neighbour in this time gets the goodbye with the view (MS-53, MS-A33).
func TestWaitingGoodbye(t *testing.T) {
	spec.Covers(t, "MS-53", "MS-A33")
	s := acquainted(t, 9, Config{})
	s.passedOn(v(7, 3), 4)
	s.suspicion(3, 2, v(7, 3))
	s.suspicion(5, 2, v(7, 3))
	s.want(Event{Kind: Left, Node: s.ref[2], Version: v(7, 3), Cause: Said, Code: 4})

	s = acquainted(t, 9, Config{})
	s.passedOn(v(7, 5), 4)
	s.suspicion(3, 2, v(7, 3))
	s.suspicion(5, 2, v(7, 3))
	s.is(2, inHistory, v(7, 5))

	s = acquainted(t, 9, Config{})
	s.passedOn(v(7, 3), 4)
	s.alive(2, v(8, 1))
	s.want(
		Event{Kind: Left, Node: s.ref[2], Version: v(7, 3), Cause: Said, Code: 4},
		Event{Kind: Joined, Node: s.ref[2], Version: v(8, 1)})
	s.pass(time.Second)
	s.is(2, inView, v(8, 1))

	s = acquainted(t, 9, Config{})
	s.passedOn(v(7, 3), 4)
	s.link(6, v(7, 3))
	for i := range s.out.Sends {
		if m := &s.out.Sends[i].Message; m.Kind == wire.Base && (len(m.Lists.Leaves) != 1 || m.Lists.Leaves[0].Code != 4) {
			t.Errorf("a new neighbour is told of the goodbyes %+v", m.Lists.Leaves)
		}
	}
	s.hear(1, v(7, 3), wire.Message{Kind: wire.Base, Flags: wire.Repair, Lists: &wire.Lists{Removed: []wire.Member{{Node: s.ref[2], Version: v(7, 3)}}}})
	if n := countKind(s.pass(time.Second), wire.Notice); n != 0 {
		t.Errorf("%d notices to a node that said goodbye", n)
	}
}

// TestGoodbyeInAnothersName: a message that names the leaving node as its sender, but comes from the NID of another
// node, is no goodbye of the leaving node itself. That holds with and without a key (MS-40, MS-A33).
func TestGoodbyeInAnothersName(t *testing.T) {
	spec.Covers(t, "MS-40", "MS-A33")
	for _, keys := range [][]string{nil, {"k"}} {
		for peer, want := range map[int]int{5: 0, 1: 1} {
			to, from := codecs(t, keys...)
			out := &Output{}
			deliver := func(msg wire.Message) (left int) {
				out.Reset()
				to.Step(time.Second, Input{Kind: Arrived, Data: encoded(t, from, msg)[0], Peer: testID(peer).Endpoints()[0]}, out)
				for _, e := range out.Events {
					if e.Kind == Left {
						left++
					}
				}
				return left
			}
			to.Step(time.Second, Input{Kind: Join, Inc: 1}, out)
			deliver(wire.Message{Kind: wire.LinkRequest, Roles: wire.Random})
			if !to.view.has(to.cfg.Table.Lookup(testID(1))) {
				t.Fatal("node 1 is no member")
			}
			got := deliver(wire.Message{Kind: wire.Update, Lists: &wire.Lists{Leaves: []wire.Departure{{Node: from.self, Version: v(3, 4)}}}})
			if got != want {
				t.Errorf("from the NID of node %d, %d keys: %d removed, want %d", peer, len(keys), got, want)
			}
		}
	}
}

// TestInventedReporters: reports that another node passes on remove a member only after the time in which the member
// could refute them. Reports that come from the reporters themselves remove it at once, if there are Θ of them from
// as many hosts (MS-38, MS-A1).
func TestInventedReporters(t *testing.T) {
	spec.Covers(t, "MS-38", "MS-A1")
	tell := func(s *solo, v wire.Version) {
		s.update(wire.Lists{Suspicions: []wire.Suspicion{{Reporter: s.ref[3], Suspect: s.ref[2], Version: v}, {Reporter: s.ref[4], Suspect: s.ref[2], Version: v}}})
		s.is(2, inView, v)
	}
	dead := func(s *solo) Event { return Event{Kind: Left, Node: s.ref[2], Version: v(7, 3), Cause: Dead} }
	t.Run("not refuted", func(t *testing.T) {
		s := acquainted(t, 9, Config{})
		s.link(1, v(7, 3))
		s.pass(time.Second)
		tell(s, v(7, 3))
		s.want()
		if n := countKind(s.pass(25*time.Millisecond), wire.Update); n != 1 {
			t.Errorf("%d updates after τ/8", n)
		}
		s.pass(s.m.relayGrace() - 30*time.Millisecond)
		s.is(2, inView, v(7, 3))
		if n := countKind(s.pass(5*time.Millisecond), wire.Notice); n != 0 {
			t.Errorf("%d notices to a node whose connections failed", n)
		}
		s.want(dead(s))
	})
	t.Run("refuted", func(t *testing.T) {
		s := acquainted(t, 9, Config{})
		tell(s, v(7, 3))
		s.pass(s.m.relayGrace() - 5*time.Millisecond)
		tell(s, v(7, 4))
		s.pass(s.m.relayGrace() - 5*time.Millisecond)
		s.alive(2, v(7, 5))
		s.pass(time.Second)
		s.is(2, inView, v(7, 5))
	})
	t.Run("of another incarnation", func(t *testing.T) {
		s := acquainted(t, 9, Config{})
		tell(s, v(8, 1))
	})
	t.Run("then first-hand", func(t *testing.T) {
		s := acquainted(t, 9, Config{})
		tell(s, v(7, 3))
		s.suspicion(3, 2, v(7, 3))
		s.want()
		s.delta(0, 0, 2) // the next update has node 3's report once, although it came twice
		s.suspicion(4, 2, v(7, 3))
		s.want(dead(s))
	})
	t.Run("one is seen here", func(t *testing.T) {
		s := acquainted(t, 9, Config{})
		s.suspicion(0, 2, v(7, 3))
		s.suspicion(3, 2, v(7, 3))
		s.want(dead(s))
	})
	t.Run("the design's threshold", func(t *testing.T) {
		s := acquainted(t, 9, Config{Threshold: 1})
		s.update(wire.Lists{Suspicions: []wire.Suspicion{{Reporter: s.ref[3], Suspect: s.ref[2], Version: v(7, 3)}}})
		s.want(dead(s))
	})
}

// TestReportersOfOneHost: until the time to refute them is over, reports of several members with the same NID
// count as one report, because these members may be on one host (MS-38, MS-A1).
func TestReportersOfOneHost(t *testing.T) {
	spec.Covers(t, "MS-38", "MS-A1")
	for _, same := range []bool{true, false} {
		to, from := codecs(t)
		to.Step(time.Second, Input{Kind: Join, Inc: 1}, &Output{})
		left := 0
		deliver := func(m *Machine, n int, msg wire.Message) {
			out := &Output{}
			to.Step(time.Second, Input{Kind: Arrived, Data: encoded(t, m, msg)[0], Peer: testID(n).Endpoints()[0]}, out)
			for _, e := range out.Events {
				if e.Kind == Left {
					left++
				}
			}
		}
		victim := from.cfg.Table.Lookup(testID(4))
		for i, name := range []string{"a", "b"} {
			n := 1
			if !same {
				n += i
			}
			id, err := wire.NewID(name, testID(n).Endpoints()...)
			if err != nil {
				t.Fatal(err)
			}
			m, err := New(Config{Zone: "test", Self: id, Wire: true})
			if err == nil {
				_, err = m.cfg.Table.Add(testID(0))
			}
			if err == nil {
				victim, err = m.cfg.Table.Add(testID(4))
			}
			if err != nil {
				t.Fatal(err)
			}
			deliver(m, n, wire.Message{Kind: wire.LinkRequest, Roles: wire.Random})
			deliver(m, n, wire.Message{Kind: wire.Update, Lists: &wire.Lists{
				Alive:      []wire.Member{{Node: victim, Version: v(3, 1)}, {Node: m.self, Version: v(3, 4)}},
				Suspicions: []wire.Suspicion{{Reporter: m.self, Suspect: victim, Version: v(3, 1)}},
			}})
		}
		if want := map[bool]int{true: 0, false: 1}[same]; left != want {
			t.Errorf("two reporters, one NID %v: %d removed, want %d", same, left, want)
		}
	}
}
