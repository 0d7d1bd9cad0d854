package engine

import (
	"testing"
	"time"

	"ulnet/gossip/zone/wire"
)

// solo is one machine, as node 0, whose neighbours the test plays. Its table knows the other
// nodes.
type solo struct {
	t   *testing.T
	m   *Machine
	ref []wire.Ref
	now time.Duration
	out Output
}

// newSolo makes a machine that has joined in version ⟨10, 1⟩: incarnation 10, minor number 1.
func newSolo(t *testing.T, nodes int, cfg Config) *solo {
	t.Helper()
	cfg.Zone, cfg.Table = "test", NewTable(100_000)
	s := &solo{t: t, now: time.Hour}
	for i := range nodes {
		r, err := cfg.Table.Add(testID(i))
		if err != nil {
			t.Fatal(err)
		}
		s.ref = append(s.ref, r)
	}
	cfg.Self = testID(0)
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s.m = m
	s.step(Input{Kind: Join, Inc: 10})
	return s
}

// step steps the machine and keeps its output.
func (s *solo) step(in Input) {
	s.t.Helper()
	s.out.Reset()
	wake := s.m.Step(s.now, in, &s.out)
	if err := s.m.invariants(); err != nil {
		s.t.Fatal(err)
	}
	if wake <= s.now {
		s.t.Fatalf("wake %v, now %v", wake, s.now)
	}
}

// pass lets time pass, in steps, and returns all messages sent meanwhile.
func (s *solo) pass(d time.Duration) (sent []Send) {
	s.t.Helper()
	for end := s.now + d; s.now < end; {
		s.now += 5 * time.Millisecond
		s.step(Input{})
		sent = append(sent, s.out.Sends...)
	}
	return sent
}

// hear delivers a message of node i with version v.
func (s *solo) hear(i int, v wire.Version, msg wire.Message) {
	s.t.Helper()
	msg.From, msg.Version = s.ref[i], v
	s.step(Input{Kind: Delivered, Message: &msg})
}

// link makes node i a neighbour, with version v.
func (s *solo) link(i int, v wire.Version) {
	s.t.Helper()
	s.hear(i, v, wire.Message{Kind: wire.LinkRequest, Roles: wire.Random})
	if s.m.links.get(s.ref[i]) == nil || s.count(wire.Base) != 1 {
		s.t.Fatalf("no link to %d: %v", i, s.out.Sends)
	}
}

// says delivers an update of node i.
func (s *solo) says(i int, l wire.Lists) {
	s.t.Helper()
	s.hear(i, v(1, 1), wire.Message{Kind: wire.Update, Lists: &l})
}

// update delivers an update that node 1 has sent. The machine need not know node 1.
func (s *solo) update(l wire.Lists) {
	s.t.Helper()
	s.hear(1, v(1, 1), wire.Message{Kind: wire.Update, Lists: &l})
}

func (s *solo) alive(i int, v wire.Version) {
	s.t.Helper()
	s.update(wire.Lists{Alive: []wire.Member{{Node: s.ref[i], Version: v}}})
}

// leave delivers the goodbye that node i itself says.
func (s *solo) leave(i int, v wire.Version, code int32) {
	s.t.Helper()
	s.says(i, wire.Lists{Leaves: []wire.Departure{{Node: s.ref[i], Version: v, Code: code}}})
}

// suspicion delivers the report that node i has failed, from the node with the number by. If by is 0, the
// machine itself files the report.
func (s *solo) suspicion(by, i int, v wire.Version) {
	s.t.Helper()
	if by > 0 {
		s.says(by, wire.Lists{Suspicions: []wire.Suspicion{{Reporter: s.ref[by], Suspect: s.ref[i], Version: v}}})
		return
	}
	s.out.Reset()
	s.m.out = &s.out
	s.m.suspect(s.ref[i], v, false)
	s.m.judge()
	s.m.out = nil
}

// removed delivers the report of a neighbour that it has removed a node.
func (s *solo) removed(i int, at wire.Version) {
	s.t.Helper()
	s.hear(1, v(1, 1), wire.Message{Kind: wire.Base, Flags: wire.Repair, Lists: &wire.Lists{Removed: []wire.Member{{Node: s.ref[i], Version: at}}}})
	s.unanswered()
}

// unanswered lets the time pass in which nodes can refute that they were removed elsewhere.
func (s *solo) unanswered() {
	s.t.Helper()
	for i := range s.m.summonses.list {
		s.m.summonses.list[i].until = s.now
	}
	s.m.summonses.at = s.now
	s.step(Input{})
}

// count returns how many messages of a kind the last step sent.
func (s *solo) count(k wire.Kind) (n int) { return countKind(s.out.Sends, k) }

func countKind(sends []Send, k wire.Kind) (n int) {
	for i := range sends {
		if sends[i].Message.Kind == k {
			n++
		}
	}
	return n
}

// want fails the test unless the events of the last step are these.
func (s *solo) want(events ...Event) {
	s.t.Helper()
	ok := len(events) == len(s.out.Events)
	for i := 0; ok && i < len(events); i++ {
		e, w := s.out.Events[i], events[i]
		ok = e.Kind == w.Kind && e.Node == w.Node && e.Version == w.Version && e.Cause == w.Cause && e.Code == w.Code
	}
	if !ok {
		s.t.Fatalf("got  %+v\nwant %+v", s.out.Events, events)
	}
}

// is fails the test unless node i has this state in the view, and this version.
func (s *solo) is(i int, st state, v wire.Version) {
	s.t.Helper()
	if e := s.m.view.at(s.ref[i]); e.state != st || e.version() != v {
		s.t.Fatalf("node %d is %+v, want state %d, %v", i, e, st, v)
	}
}

// delta fails the test unless the next update has these numbers of live nodes, goodbyes and suspicions.
func (s *solo) delta(alive, leaves, suspicions int) {
	s.t.Helper()
	d := &s.m.delta
	if d.count != alive || len(d.leaves) != leaves || len(d.suspicions) != suspicions {
		s.t.Fatalf("Δ has %d alive, %d leaves, %d suspicions; want %d, %d, %d", d.count, len(d.leaves), len(d.suspicions), alive, leaves, suspicions)
	}
}

func v(inc uint64, minor uint32) wire.Version { return wire.Version{Inc: inc, Minor: minor} }
