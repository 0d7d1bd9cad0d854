package engine

import (
	"testing"
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnd/lndtest/spec"
)

// TestAheadOfClock: a member itself sends a version that is a little too far ahead of this node's clock. This node
// passes it on, and accepts it once its clock is there. Until then it ignores goodbyes, reports and removals that
// others pass on about older versions. A member whose version was far too high, or came from others, can still leave
// by its own goodbye in an older version (MS-A2, MS-A3, MS-A9).
func TestAheadOfClock(t *testing.T) {
	spec.Covers(t, "MS-A2", "MS-A3", "MS-A9")
	const wall, limit = 1 << 60, 1 << 44
	far := v(wall+limit+uint64(5*time.Second), 1) // the machine's clock is at wall + 1 s by then
	s := acquainted(t, 9, Config{Wall: wall, Ahead: limit})
	s.link(1, v(7, 3))
	s.pass(time.Second)
	s.suspicion(3, 2, v(7, 3))
	s.pass(time.Second)
	s.hear(2, far, wire.Message{Kind: wire.Notice})
	sent := wire.Version{}
	for _, to := range s.pass(25 * time.Millisecond) {
		if l := to.Message.Lists; to.Message.Kind == wire.Update && len(l.Alive) == 1 && l.Alive[0].Node == s.ref[2] {
			sent = l.Alive[0].Version
		}
	}
	if sent != far {
		t.Errorf("it passes on %v", sent)
	}
	s.update(wire.Lists{Suspicions: []wire.Suspicion{{Reporter: s.ref[5], Suspect: s.ref[2], Version: v(7, 3)}, {Reporter: s.ref[6], Suspect: s.ref[2], Version: v(7, 3)}}})
	s.passedOn(v(7, 3), 4)
	s.removed(2, v(7, 3))
	s.is(2, inView, v(7, 3))
	s.alive(3, v(wall+limit<<1, 1)) // so far ahead that the machine ignores the version
	s.leave(3, v(7, 3), 4)
	s.is(3, inHistory, v(7, 3))
	s.alive(4, far)
	s.leave(4, v(7, 3), 4)
	s.is(4, inHistory, v(7, 3))
	s.pass(4 * time.Second)
	s.passedOn(v(7, 3), 4)
	s.is(2, inView, far)
}

// asked returns how many messages of the last step ask node i for its version.
func (s *solo) asked(i int) (n int) {
	for _, to := range s.out.Sends {
		if to.To == s.ref[i] && to.Message.Kind == wire.Notice {
			n++
		}
	}
	return n
}

// TestNamedAhead: other nodes name a version of a member that is a little too far ahead of this node's clock.
// Goodbyes and reports about older versions then still count: when one is passed on, this node asks the member for
// its version, and removes it if it does not answer. If the goodbye names a version too far ahead for the member to
// take a newer one, an answer in an older version refutes it, too (MS-A2, MS-A3).
func TestNamedAhead(t *testing.T) {
	spec.Covers(t, "MS-A2", "MS-A3")
	const wall, limit = 1 << 60, 1 << 44
	far := v(wall+limit+uint64(4*time.Second), 1)
	for what, tt := range map[string]struct {
		tell   func(s *solo)
		answer wire.Version
		want   state
	}{
		"goodbye":                      {tell: func(s *solo) { s.passedOnce(v(7, 3)) }, want: inHistory},
		"goodbye, answered":            {tell: func(s *solo) { s.passedOnce(v(7, 3)) }, answer: v(7, 4), want: inView},
		"goodbye ahead":                {tell: func(s *solo) { s.passedOnce(far) }, want: inHistory},
		"goodbye ahead, answered":      {tell: func(s *solo) { s.passedOnce(far) }, answer: v(7, 3), want: inView},
		"reports of others":            {tell: (*solo).blamed, want: inHistory},
		"reports of others, answered":  {tell: (*solo).blamed, answer: far, want: inView},
		"goodbye too far ahead of all": {tell: func(s *solo) { s.passedOnce(v(wall+limit<<1, 1)) }, want: inView},
	} {
		t.Run(what, func(t *testing.T) {
			s := acquainted(t, 9, Config{Wall: wall, Ahead: limit})
			s.link(1, v(7, 3))
			s.pass(time.Second)
			s.alive(2, far)
			if s.asked(2) > 0 {
				t.Error("it asks though nobody accuses the member")
			}
			tt.tell(s)
			if asked := s.asked(2); (asked == 1) != (what != "goodbye too far ahead of all") {
				t.Errorf("it asks %d times", asked)
			}
			if tt.answer.IsValid() {
				s.hear(2, tt.answer, wire.Message{Kind: wire.Notice})
			}
			s.pass(time.Second)
			if e := s.m.view.at(s.ref[2]); e.state != tt.want {
				t.Errorf("it is %+v", e)
			}
		})
	}
}

// passedOnce delivers a goodbye of node 2 that node 1 passes on.
func (s *solo) passedOnce(v wire.Version) {
	s.t.Helper()
	s.update(wire.Lists{Leaves: []wire.Departure{{Node: s.ref[2], Version: v}}})
}

// blamed delivers reports of two other nodes about node 2 that node 1 passes on.
func (s *solo) blamed() {
	s.t.Helper()
	s.update(wire.Lists{Suspicions: []wire.Suspicion{{Reporter: s.ref[4], Suspect: s.ref[2], Version: v(7, 3)}, {Reporter: s.ref[3], Suspect: s.ref[2], Version: v(7, 3)}}})
}

// TestReportersThemselves: a member had to take a version that is too far ahead of this node's clock, and then fails.
// This node counts its own report, and reports that come from the reporters themselves. It removes the member as soon
// as there are enough of these (MS-A1, MS-A2).
func TestReportersThemselves(t *testing.T) {
	spec.Covers(t, "MS-A1", "MS-A2")
	const wall, limit = 1 << 60, 1 << 44
	far := v(wall+limit+uint64(4*time.Second), 1)
	s := acquainted(t, 9, Config{Wall: wall, Ahead: limit})
	s.link(1, v(7, 3))
	s.hear(2, far, wire.Message{Kind: wire.Notice})
	s.suspicion(0, 2, v(7, 3))
	s.is(2, inView, v(7, 3))
	s.suspicion(4, 2, v(7, 3))
	s.is(2, inHistory, far)
}

// TestCatchUp: a version of a member is too far ahead of this node's clock. When the clock has come far enough, this
// node accepts the version if it came from the member itself, and forgets it if only others named it (MS-A2).
func TestCatchUp(t *testing.T) {
	spec.Covers(t, "MS-A2")
	const wall, limit = 1 << 60, 1 << 44
	far := v(wall+limit+uint64(4*time.Second), 1)
	s := acquainted(t, 9, Config{Wall: wall, Ahead: limit})
	s.link(1, v(7, 3))
	s.hear(2, far, wire.Message{Kind: wire.Notice})
	s.alive(3, far)
	s.pass(6 * time.Second)
	s.is(2, inView, far)
	s.is(3, inView, v(7, 3))
	if len(s.m.ahead) > 0 {
		t.Errorf("it keeps %v", s.m.ahead)
	}
}
