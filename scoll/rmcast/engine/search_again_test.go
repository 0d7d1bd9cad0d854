package engine

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/wire"
)

// TestListsOfIncarnations: RM-A9, RM-A18: one of two managers has a group of nodes that may be members. One more such node
// reports a list of itself alone, answers the search that follows, and does so at once again in its next incarnation. The
// manager searches once per Takeover, and not all the time. The group stays as it is.
func TestListsOfIncarnations(t *testing.T) {
	spec.Covers(t, "RM-A9", "RM-A18")
	group := []sim.NodeID{9, 10, 11}
	s := startedOver(2, group...)
	s.g.admitted = admit([]nid.NID{hostNID(9), hostNID(10), hostNID(11), hostNID(20)}, s.g.cfg.Managers)
	s.publishes(t, group, nil)
	const lasts = time.Minute
	began, searched, searches := s.g.now, time.Duration(0), s.g.stats.Collections
	inc := uint64(100)
	for s.g.now < began+lasts {
		before := s.g.now
		s.hear(s.g.now+10*time.Millisecond, group...)
		id := wire.ID{NID: hostNID(20), Incarnation: inc}
		s.report(id)
		if s.g.collect.probe(id) != nil {
			s.say(id, &wire.Order{})
			inc++
		}
		if s.out.Reset(); len(s.g.collect.probes) > 0 {
			searched += s.g.now - before
		}
	}
	if n := s.g.stats.Collections - searches; n < 2 || n > uint64(lasts/s.g.cfg.Takeover)+1 || searched > lasts/4 {
		t.Errorf("%d searches in %v, which took %v", n, lasts, searched)
	}
	if m := s.g.latest.Members; len(m) != len(group) || s.g.role != active {
		t.Errorf("members %v, the manager is %v", m, s.g.role)
	}
}
