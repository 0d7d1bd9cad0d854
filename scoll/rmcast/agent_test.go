package rmcast_test

import (
	"strings"
	"testing"
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/lndtest/spec"
	"ulnet/scoll/rmcast"
)

// TestAgents: RM-1, RM-9, RM-30 and RM-A22: several sources send messages of one datagram and
// of several over portals, by multicast PUTs.
func TestAgents(t *testing.T) {
	spec.Covers(t, "RM-1", "RM-9", "RM-30", "RM-A22")
	s := newStacks(t, 7, link.Quality{}, nil)
	s.form(7)
	repairs := s.warm()
	for i := range 5 {
		for _, k := range s.nodes {
			k.post(name(i, k.id))
		}
		s.run(5 * time.Millisecond)
	}
	text := strings.Repeat("long ", 5000)
	s.nodes[3].post(text)
	s.run(time.Second)
	for i := range 5 {
		for _, k := range s.nodes {
			s.want(name(i, k.id), s.ids()...)
		}
	}
	s.want(text, s.ids()...)
	for _, k := range s.nodes {
		for _, d := range k.done {
			if d.err != nil || len(d.result.Failed) > 0 {
				t.Errorf("node %d: %+v", k.id, d)
			}
		}
		st := k.group.Status()
		if !st.Multicast || st.InFlight != 0 {
			t.Errorf("node %d: %+v", k.id, st)
		}
	}
	if n := s.repairs(); n > repairs {
		t.Errorf("%d repairs on a perfect network", n-repairs)
	}
}

// TestFallback: if one node has no multicast, payload goes down the tree for all, and the
// status says so.
func TestFallback(t *testing.T) {
	s := newStacks(t, 7, link.Quality{}, func(id int, _ *rmcast.Config, cfg *rmcast.GroupConfig) { cfg.NoMulticast = id == 5 })
	s.form(7)
	repairs := s.warm()
	for _, k := range s.nodes {
		k.post(name(1, k.id))
	}
	s.run(time.Second)
	for _, k := range s.nodes {
		s.want(name(1, k.id), s.ids()...)
		if st := k.group.Status(); st.Multicast {
			t.Errorf("node %d: %+v", k.id, st)
		}
	}
	if n := s.repairs(); n > repairs {
		t.Errorf("%d repairs on a perfect network", n-repairs)
	}
}

// TestAgentFaults: RM-24 and RM-36: nodes discard acknowledgements and datagrams, and
// everything is delivered once.
func TestAgentFaults(t *testing.T) {
	spec.Covers(t, "RM-24", "RM-36")
	s := newStacks(t, 8, link.Quality{}, func(_ int, _ *rmcast.Config, cfg *rmcast.GroupConfig) {
		cfg.FIFO, cfg.Guard = true, time.Millisecond
	})
	s.form(8)
	for _, k := range s.nodes {
		k.group.SetFaults(rmcast.Faults{Acks: 0.1, Datagrams: 0.1})
	}
	for i := range 40 {
		for _, k := range s.nodes[:3] {
			k.post(name(i, k.id))
		}
		s.run(30 * time.Millisecond)
	}
	s.run(5 * time.Second)
	discarded, repaired := uint64(0), uint64(0)
	for _, k := range s.nodes {
		st := k.group.Stats()
		discarded, repaired = discarded+st.Discarded, repaired+st.Repaired
	}
	for i := range 40 {
		for _, k := range s.nodes[:3] {
			if d := k.done[i]; d.err != nil {
				t.Fatal(d)
			}
			s.want(name(i, k.id), s.ids()...)
		}
	}
	if discarded < 100 || repaired < 50 {
		t.Errorf("%d messages were discarded, %d datagrams repaired", discarded, repaired)
	}
}

// TestAgentLeaves: RM-29 and RM-A11: a member leaves while a message is in flight. All get that message; the
// next message reaches the members that stay, and not the one that left.
func TestAgentLeaves(t *testing.T) {
	spec.Covers(t, "RM-29", "RM-A11")
	s := newStacks(t, 4, link.Quality{}, nil)
	s.form(4)
	s.nodes[0].post("before")
	s.nodes[2].host.Do(s.nodes[2].group.BeginLeave)
	for range 100 {
		if s.run(20 * time.Millisecond); len(s.nodes[2].gone) > 0 {
			break
		}
	}
	s.form(3)
	s.nodes[0].post("after")
	s.run(time.Second)
	s.want("before", s.ids()...)
	s.want("after", 0, 1, 3)
	if got := s.nodes[2].got; len(got) > 1 {
		t.Errorf("the leaver got %v", got)
	}
}

// TestAgentRestarts: RM-28 and RM-A8: a node dies and comes back as another member. The result of
// a message that was in flight names the failed member.
func TestAgentRestarts(t *testing.T) {
	spec.Covers(t, "RM-28", "RM-A8")
	s := newStacks(t, 6, link.Quality{}, nil)
	s.form(6)
	before := s.nodes[4].group.Status().Self
	s.fabric.Crash(4)
	s.nodes[0].post("without")
	s.run(100 * time.Millisecond)
	if st := s.nodes[0].group.Status(); len(st.Streams) == 0 || len(s.nodes[0].done) > 0 {
		t.Errorf("%+v", st)
	} else if w := st.Streams[0].Waits; len(w) == 0 || w[0].For == 0 {
		t.Errorf("the status does not say who is missing: %+v", w)
	}
	s.fabric.Start(4, false)
	s.run(2 * time.Second)
	s.form(6)
	if len(s.nodes[0].done) != 1 || len(s.nodes[0].done[0].result.Failed) != 1 || s.nodes[0].done[0].result.Failed[0] != before {
		t.Errorf("%+v, want %v to have failed", s.nodes[0].done, before)
	}
	s.want("without", 0, 1, 2, 3, 5)
	s.nodes[4].post("back")
	s.run(time.Second)
	s.want("back", s.ids()...)
}
