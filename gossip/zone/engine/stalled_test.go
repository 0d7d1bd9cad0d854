package engine

import (
	"testing"
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnd/lndtest/spec"
)

// TestStalledObserver: a member can refute a goodbye, reports or a removal elsewhere, and the observer stands
// still for less than what counts as a pause. The observer does not remove the member as soon as it goes on,
// because the refutation may be among the messages that have come meanwhile. It gives the member more time
// once (MS-A1, MS-A3, MS-A9, MS-A29).
func TestStalledObserver(t *testing.T) {
	spec.Covers(t, "MS-A1", "MS-A3", "MS-A9", "MS-A29")
	reports := func(s *solo) []wire.Suspicion {
		return []wire.Suspicion{{Reporter: s.ref[3], Suspect: s.ref[2], Version: v(7, 3)}, {Reporter: s.ref[4], Suspect: s.ref[2], Version: v(7, 3)}}
	}
	for what, tell := range map[string]struct {
		msg  func(s *solo) wire.Message
		long bool
	}{
		"goodbye": {msg: func(s *solo) wire.Message {
			return wire.Message{Kind: wire.Update, Lists: &wire.Lists{Leaves: []wire.Departure{{Node: s.ref[2], Version: v(7, 3)}}}}
		}},
		"failures": {msg: func(s *solo) wire.Message {
			return wire.Message{Kind: wire.Update, Lists: &wire.Lists{Suspicions: reports(s)}}
		}},
		"silence": {msg: func(s *solo) wire.Message {
			return wire.Message{Kind: wire.Update, Lists: &wire.Lists{Silences: reports(s)}}
		}, long: true},
		"removed elsewhere": {msg: func(s *solo) wire.Message {
			return wire.Message{Kind: wire.Base, Flags: wire.Repair, Lists: &wire.Lists{Removed: []wire.Member{{Node: s.ref[2], Version: v(7, 3)}}}}
		}, long: true},
	} {
		t.Run(what, func(t *testing.T) {
			told := func() (s *solo, grace time.Duration) {
				s = acquainted(t, 9, Config{})
				s.link(1, v(7, 3))
				s.pass(time.Second)
				s.hear(1, v(7, 3), tell.msg(s))
				if grace = s.m.relayGrace(); tell.long {
					grace = graceRounds * s.m.cfg.Aggregation
				}
				return s, grace
			}
			stall := func(s *solo, d time.Duration) {
				s.now += d
				s.step(Input{})
				s.is(2, inView, v(7, 3))
			}
			for _, still := range []time.Duration{60, 200, 600, 1900, 5000} {
				for _, left := range []time.Duration{55, 100, 150} {
					if still < left {
						continue
					}
					s, grace := told()
					s.pass(grace - left*time.Millisecond)
					stall(s, still*time.Millisecond)
					s.alive(2, v(7, 4))
					s.pass(time.Second)
					s.is(2, inView, v(7, 4))
				}
			}
			s, grace := told()
			s.pass(grace - 55*time.Millisecond)
			stall(s, 200*time.Millisecond)
			s.pass(s.m.relayGrace() - 5*time.Millisecond)
			s.is(2, inView, v(7, 3))
			s.now += 200 * time.Millisecond
			s.step(Input{})
			s.is(2, inHistory, v(7, 3)) // the grace period is not prolonged a second time: the node has been removed
		})
	}
}

// TestStalledInShorterGrace: enough nodes report that a member is silent, and the observer stands still. Then reports
// of failures shorten the grace period, and at its end the observer stands still again. The shorter period is prolonged
// too, because the member has learned of these reports only now (MS-A1, MS-A29).
func TestStalledInShorterGrace(t *testing.T) {
	spec.Covers(t, "MS-A1", "MS-A29")
	s := acquainted(t, 9, Config{})
	s.link(1, v(7, 3))
	s.pass(time.Second)
	reports := []wire.Suspicion{{Reporter: s.ref[3], Suspect: s.ref[2], Version: v(7, 3)}, {Reporter: s.ref[4], Suspect: s.ref[2], Version: v(7, 3)}}
	s.update(wire.Lists{Silences: reports})
	s.now += 60 * time.Millisecond
	s.step(Input{})
	s.update(wire.Lists{Suspicions: reports})
	s.pass(s.m.relayGrace() - 55*time.Millisecond)
	s.now += 100 * time.Millisecond
	s.step(Input{})
	s.is(2, inView, v(7, 3))
	s.pass(s.m.relayGrace() + 5*time.Millisecond)
	s.is(2, inHistory, v(7, 3))
}
