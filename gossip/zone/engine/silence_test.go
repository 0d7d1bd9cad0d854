package engine

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
)

// TestShortPartitions: G-MS-10: a partition lasts about as long as the timeout of a silent
// neighbour, or much longer. No node removes a member of its own side because of it, neither
// during the partition nor later.
func TestShortPartitions(t *testing.T) {
	spec.Covers(t, "G-MS-10")
	for _, length := range []time.Duration{2300, 2600, 2900, 3200, 3600, 4300, 10_700} {
		if !effort.Long() && length != 2600 && length != 4300 {
			continue
		}
		t.Run(fmt.Sprintf("G-MS-10 %v ms", int(length)), func(t *testing.T) {
			w := booted(t, uint64(length), 64, Config{})
			w.run(4 * time.Second)
			w.told = func(n *node, e *Event) {
				if other := w.byNID[e.ID.Endpoints()[0]]; e.Kind == Left && (n.i < 16) == (other.i < 16) {
					w.fail("%v removes %v of its own side, %v", n.id, e.ID, e.Cause)
				}
			}
			w.cut = func(x, y int) bool { return (x < 16) != (y < 16) }
			w.run(length * time.Millisecond)
			w.cut = nil
			w.run(20 * time.Second)
			if !w.agree() {
				t.Error("the views differ")
			}
		})
	}
}

// silence delivers reports of some nodes that a node is silent, in version ⟨7, 1⟩.
func (s *solo) silence(i int, by ...int) {
	s.t.Helper()
	var l wire.Lists
	for _, by := range by {
		l.Silences = append(l.Silences, wire.Suspicion{Reporter: s.ref[by], Suspect: s.ref[i], Version: v(7, 1)})
	}
	s.update(l)
}

// TestGrace: if enough nodes report a node as silent, it has three rounds of updates to refute
// that. A node whose connections failed is removed at once (G-MS-10, G-MS-2).
func TestGrace(t *testing.T) {
	spec.Covers(t, "G-MS-2", "G-MS-10")
	sees := func(t *testing.T) *solo {
		s := newSolo(t, 9, Config{})
		for i := 1; i < 9; i++ {
			s.alive(i, v(7, 1))
		}
		return s
	}
	const grace = 600 * time.Millisecond
	t.Run("silent", func(t *testing.T) {
		s := sees(t)
		s.silence(2, 3)
		s.want()
		s.silence(2, 4)
		s.want(Event{Kind: Doubted, Node: s.ref[2], Version: v(7, 1)})
		s.pass(grace - 5*time.Millisecond)
		s.is(2, inView, v(7, 1))
		s.silence(2, 5) // another report does not restart the grace period
		s.pass(5 * time.Millisecond)
		s.is(2, inHistory, v(7, 1))
	})
	t.Run("refuted", func(t *testing.T) {
		s := sees(t)
		s.silence(2, 3, 4)
		s.pass(grace - 5*time.Millisecond)
		s.alive(2, v(7, 2))
		s.pass(2 * grace)
		s.is(2, inView, v(7, 2))
	})
	t.Run("failed", func(t *testing.T) {
		s := sees(t)
		s.silence(2, 3, 4, 5)
		s.suspicion(3, 2, v(7, 1)) // the node is reported as failed, not only as silent
		s.delta(8, 0, 1)           // all neighbours must get this suspicion
		s.is(2, inView, v(7, 1))
		s.suspicion(6, 2, v(7, 1))
		s.is(2, inHistory, v(7, 1))
		s.silence(7, 3, 4)
		s.suspicion(3, 7, v(7, 1))
		s.silence(7, 3) // ignored: node 3 has reported a failure of node 7 already
		s.suspicion(4, 7, v(7, 1))
		s.is(7, inHistory, v(7, 1))
	})
}

// TestSummons: a node reports another node as silent, or learns that the other node was removed
// elsewhere. It notifies the other node until the other node refutes the news, or until the time
// for a refutation is over (G-MS-10).
func TestSummons(t *testing.T) {
	spec.Covers(t, "G-MS-10")
	summonsTo := func(s *solo, sent []Send, i int) (n int) {
		for k := range sent {
			l := sent[k].Message.Lists
			if sent[k].To == s.ref[i] && sent[k].Message.Kind == wire.Notice && len(l.Silences) == 1 && l.Silences[0].Suspect == s.ref[i] {
				n++
			}
		}
		return n
	}
	t.Run("suspect", func(t *testing.T) {
		s := newSolo(t, 9, Config{})
		for i := 1; i < 9; i++ {
			s.alive(i, v(7, 1))
		}
		s.link(2, v(7, 1))
		sent := s.pass(3 * time.Second) // all others are silent, so this node suspects itself and files nothing
		s.hear(2, v(7, 1), wire.Message{Kind: wire.Heartbeat})
		sent = append(sent, s.pass(7*time.Second)...)
		if n := summonsTo(s, sent, 2); n != summonRounds {
			t.Errorf("%d summonses, want %d", n, summonRounds)
		}
	})
	t.Run("removed elsewhere", func(t *testing.T) {
		s := newSolo(t, 9, Config{})
		for i := 1; i < 9; i++ {
			s.alive(i, v(7, 1))
		}
		said := wire.Message{Kind: wire.Base, Flags: wire.Repair, Lists: &wire.Lists{Removed: []wire.Member{{Node: s.ref[5], Version: v(7, 1)}, {Node: s.ref[6], Version: v(7, 1)}}}}
		s.hear(1, v(7, 1), said)
		sent := append(slices.Clone(s.out.Sends), s.pass(300*time.Millisecond)...)
		s.hear(1, v(7, 1), said) // the same news again does not restart the notifications
		s.alive(6, v(7, 2))
		sent = append(sent, s.pass(295*time.Millisecond)...)
		s.is(5, inView, v(7, 1))
		s.pass(5 * time.Millisecond)
		s.is(5, inHistory, v(7, 1))
		s.is(6, inView, v(7, 2))
		if five, six := summonsTo(s, sent, 5), summonsTo(s, sent, 6); five != graceRounds || six != 2 {
			t.Errorf("%d and %d summonses", five, six)
		}
	})
	t.Run("very many", func(t *testing.T) {
		s := newSolo(t, 1000, Config{})
		var list []wire.Member
		for i := 2; i < 1000; i++ {
			list = append(list, wire.Member{Node: s.ref[i], Version: v(7, 1)})
		}
		s.update(wire.Lists{Alive: list})
		s.hear(1, v(7, 1), wire.Message{Kind: wire.Base, Flags: wire.Repair, Lists: &wire.Lists{Removed: list}})
		for most, end := s.count(wire.Notice), s.now+10*time.Second; s.now < end; most = 0 {
			for range 40 {
				s.now += 5 * time.Millisecond
				s.step(Input{})
				most += s.count(wire.Notice)
			}
			if most > 2*maxSummons {
				t.Fatalf("%d summonses in a round", most)
			}
		}
		if n := s.m.view.gone; n != len(list) {
			t.Errorf("%d of %d are removed", n, len(list))
		}
	})
}

// TestAccusedAnswers: a node that receives news that it is silent, or was removed elsewhere,
// answers the sender directly (G-MS-10). An update would carry the refutation over one link per
// round, which may take longer than the grace period. The node refutes each version once.
func TestAccusedAnswers(t *testing.T) {
	spec.Covers(t, "G-MS-10")
	accuse := func(s *solo, by, suspect int, at wire.Version) []Send {
		s.hear(by, v(7, 1), wire.Message{Kind: wire.Notice, Lists: &wire.Lists{Silences: []wire.Suspicion{{Reporter: s.ref[by], Suspect: s.ref[suspect], Version: at}}}})
		return slices.DeleteFunc(slices.Clone(s.out.Sends), func(to Send) bool { return to.Message.Kind != wire.Notice })
	}
	s := newSolo(t, 9, Config{})
	for i := 1; i < 5; i++ {
		s.alive(i, v(7, 1))
	}
	for _, c := range []struct {
		name string
		by   int
		at   wire.Version
		want wire.Version
	}{
		{"at first", 2, v(10, 1), v(10, 2)},
		{"after it was refuted", 3, v(10, 1), v(10, 2)},
		{"by a node that is not in the view", 7, v(10, 1), v(10, 2)},
		{"again", 2, v(10, 2), v(10, 3)},
	} {
		sent := accuse(s, c.by, 0, c.at)
		if len(sent) != 1 || sent[0].To != s.ref[c.by] || sent[0].Message.Version != c.want || len(sent[0].Message.Lists.Silences) > 0 {
			t.Errorf("accused %s: sends %+v, want one answer to %d in version %v", c.name, sent, c.by, c.want)
		}
	}
	if sent := accuse(s, 2, 3, v(7, 1)); len(sent) != 0 {
		t.Errorf("another node is accused: sends %+v", sent)
	}
	s.silence(0, 2, 3) // these reports come as in an update, from a neighbour that did not file them
	if n := s.count(wire.Notice); n != 0 {
		t.Errorf("%d answers to an update", n)
	}
}

// TestUrgentRefutation: a suspected node sends its refutation within an eighth of a round.
// Nodes that know of the suspicion pass the refutation on as quickly. The same holds for
// reports of silence (G-MS-10).
func TestUrgentRefutation(t *testing.T) {
	spec.Covers(t, "G-MS-10")
	updates := func(s *solo, urgent bool) {
		t.Helper()
		s.pass(25 * time.Millisecond)
		if n := s.count(wire.Update); (n > 0) != urgent {
			t.Errorf("%d updates after an eighth of a round, want some: %v", n, urgent)
		}
		s.pass(time.Second)
	}
	s := newSolo(t, 9, Config{})
	for i := 1; i < 9; i++ {
		s.alive(i, v(7, 1))
	}
	s.link(1, v(7, 1))
	s.pass(time.Second)
	s.suspicion(3, 0, v(10, 1)) // this node itself is suspected
	updates(s, true)
	s.alive(5, v(7, 2)) // this node knows of no suspicion of node 5
	updates(s, false)
	s.silence(4, 3)
	updates(s, true)
	s.alive(4, v(7, 2))
	updates(s, true)
}
