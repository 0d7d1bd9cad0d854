package engine

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
)

// TestStaleForNewcomers: a supervisor that joins long after the last message of a zone learns how long ago the
// other supervisors heard the zone (MS-98).
func TestStaleForNewcomers(t *testing.T) {
	spec.Covers(t, "MS-98")
	const dead = 10 * time.Minute
	s := newSystem(t, 1, 1, 4, 4)
	s.until(5*time.Second, s.right)
	guard := s.guardian(0)
	for _, n := range s.zones[0] {
		n.crash()
	}
	s.run(dead)
	for round := range 2 {
		for _, n := range s.supervisors {
			if n != guard {
				n.kill()
				n.start()
				s.run(linkTimeout + 5*linkTau)
			}
		}
		for _, n := range s.supervisors {
			if c := n.m.Census(); len(c) != 1 || c[0].State != Lost || c[0].Age < dead || c[0].Age > s.now-time.Hour {
				t.Errorf("round %d: the census of %s is %+v", round, n.id.Name(), c)
			}
		}
	}
	entries := guard.m.attributes.of[guard.m.self].u
	s.run(dead)
	if u := guard.m.attributes.of[guard.m.self].u; u != entries {
		t.Errorf("the entry was written %d times while nobody joined", u-entries)
	}
}
