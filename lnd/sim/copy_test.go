package sim

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
)

// A multicast is transmitted once on its sender's link, whatever the number of receivers
// (RM-1): all receive it at the same time, and the next message waits for one transmission
// only.
func TestCopiesLeaveOnce(t *testing.T) {
	spec.Covers(t, "RM-1")
	const receivers = 8
	b := newBench(t, Config[int]{Nodes: receivers + 1, Topology: flat("latency 3ms"), AccessRate: tenMegabit})
	for i := range receivers {
		b.todo[0] = append(b.todo[0], Send[int]{To: NodeID(i + 1), Msg: 1, Size: oneMS, Copy: i > 0})
	}
	b.todo[0] = append(b.todo[0], Send[int]{To: 1, Msg: 2, Size: oneMS})
	b.poke(0)
	b.run(time.Second)
	if len(b.got) != receivers+1 {
		t.Fatalf("got %v", b.texts())
	}
	for i, a := range b.got[:receivers] {
		if a.at != 5*time.Millisecond || a.node != NodeID(i+1) || a.in.Msg != 1 {
			t.Errorf("%v, want the multicast at node %v after 5ms", a, NodeID(i+1))
		}
	}
	if a := b.got[receivers]; a.at != 6*time.Millisecond || a.in.Msg != 2 {
		t.Errorf("behind the multicast: %v, want message c after 6ms", a)
	}
	if s := b.Stats(); s.Sent != 2 || s.SentBytes != 2*oneMS || s.Copies != receivers-1 {
		t.Errorf("sent %d messages of %d bytes and %d copies, want 2, %d and %d", s.Sent, s.SentBytes, s.Copies, 2*oneMS, receivers-1)
	}
}

// TestCopiesAreLostApart: whether a copy of a multicast is lost is drawn for each copy, independently of
// the other copies.
func TestCopiesAreLostApart(t *testing.T) {
	const receivers, rounds = 20, 100
	b := newBench(t, Config[int]{Nodes: receivers + 1, Topology: flat("loss 50%")})
	for round := range rounds {
		for i := range receivers {
			b.todo[0] = append(b.todo[0], Send[int]{To: NodeID(i + 1), Msg: round, Copy: i > 0})
		}
	}
	b.poke(0)
	b.run(time.Second)
	var got, came [rounds]int
	for _, a := range b.got {
		got[a.node]++
		came[a.in.Msg]++
	}
	for i, n := range got[1 : receivers+1] {
		if n < rounds/4 || n > 3*rounds/4 {
			t.Errorf("receiver %d got %d of %d at a loss of 50%%", i, n, rounds)
		}
	}
	for round, n := range came {
		if n == 0 || n == receivers {
			t.Errorf("multicast %d came to %d of %d receivers", round, n, receivers)
		}
	}
}
