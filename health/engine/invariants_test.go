package engine

import (
	"cmp"
	"fmt"
	"slices"
)

// invariants returns an error for the first invariant of the server that does not hold.
func (s *Server) invariants() (err error) {
	fail := func(format string, args ...any) { err = cmp.Or(err, fmt.Errorf(format, args...)) }
	count, timed, unsure := 0, 0, 0
	s.each(func(i int32, c *conn) {
		count++
		if j, ok := s.find(c.id); !ok || j != i {
			fail("client %v is at %d, its index says %d", c.id, i, j)
		}
		linked := 0
		for k := *s.table.byNID.head(c.peer.NID); k > 0; k = *s.table.byNID.next(k - 1) {
			if k == i+1 {
				linked++
			}
		}
		if linked != 1 {
			fail("client %v is %d times among those of %v", c.id, linked, c.peer.NID)
		}
		if c.pos != noSlot {
			timed++
			if s.deadlines.heap[c.pos] != i {
				fail("client %v is not at its place among the deadlines", c.id)
			}
		}
		if c.state == recovering {
			unsure++
		}
		if waits := c.state == orphaned || c.state == recovering || c.state == connected && s.ours(c); waits != (c.pos != noSlot) {
			fail("client %v, %v under %v: deadline %v", c.id, c.state, s.members.nid(c.master), c.pos != noSlot)
		}
	})
	if count != s.table.count || count != len(s.table.index) || timed != len(s.deadlines.heap) || unsure != s.table.unsure {
		fail("%d clients, not %d or %d; %d deadlines, not %d; %d recovering, not %d", count, s.table.count, len(s.table.index),
			timed, len(s.deadlines.heap), unsure, s.table.unsure)
	}
	s.tombstones.invariants(fail)
	inFlight := 0
	for _, b := range s.evictions.batches {
		if b.inFlight {
			inFlight++
		}
	}
	if inFlight > s.evictions.inFlight || s.evictions.inFlight > s.cfg.MaxBroadcasts {
		fail("%d broadcasts under way, not %d", inFlight, s.evictions.inFlight)
	}
	return err
}

// invariants calls fail for each invariant of the tombstones that does not hold.
func (t *tombstones) invariants(fail func(format string, args ...any)) {
	shared := 0
	for _, n := range t.counts {
		shared += int(n)
	}
	if shared != len(t.incarnations) {
		fail("%d tombstones, not %d", shared, len(t.incarnations))
	}
	for id := range t.incarnations {
		list := t.list(id)
		refusing := len(slices.DeleteFunc(t.list(id), func(b tombstone) bool { return b.void }))
		if refusing > maxEvicted || len(list) > maxEvicted+maxVoid {
			fail("client %v has %d tombstones, %d that refuse their incarnations", id, len(list), refusing)
		}
		for k, g := range list {
			switch {
			case g.void && (!g.taken.any() || g.noChoice != 0):
				fail("void tombstone of client %v: %+v", id, g)
			case k > 0 && (g.taken.before() != nil || g.incarnation >= list[k-1].incarnation):
				fail("client %v: the tombstone %+v is behind %+v", id, g, list[k-1])
			}
		}
	}
}
