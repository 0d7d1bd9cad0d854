package engine

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
)

// TestZoneLeaves: delegates that leave tell their supervisor. A zone whose members all leave
// therefore disappears from every census as fast as attributes travel, without waiting until
// the supervisor gives up the delegates (MS-40, MS-98).
func TestZoneLeaves(t *testing.T) {
	spec.Covers(t, "MS-40", "MS-98")
	s := newSystem(t, 5, 2, 4, 3)
	s.until(5*time.Second, s.right)
	s.run(3 * time.Second)
	for _, n := range s.zones[1] {
		n.step(Input{Kind: Leave})
		s.run(10 * time.Millisecond)
	}
	took := s.until(10*time.Second, func() bool {
		for _, n := range s.supervisors {
			if c := n.m.Census(); len(c) != 1 || c[0].Zone != "zone0" {
				return false
			}
		}
		return true
	})
	if took > time.Second {
		t.Errorf("the zone is gone %v after its last member", took)
	}
}
