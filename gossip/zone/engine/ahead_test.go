package engine

import (
	"testing"
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnd/lndtest/spec"
)

// TestAheadOfClock: a version of a member is a little too far ahead of this node's clock. This node passes it on, and
// accepts it once its clock is there. Until then it ignores reports, goodbyes and removals of others in older
// versions, but not the member's own goodbye (MS-A2, MS-A3, MS-A9).
func TestAheadOfClock(t *testing.T) {
	spec.Covers(t, "MS-A2", "MS-A3", "MS-A9")
	const wall, limit = 1 << 60, 1 << 44
	far := v(wall+limit+uint64(5*time.Second), 1) // the machine's clock is at wall + 1 s by then
	s := acquainted(t, 9, Config{Wall: wall, Ahead: limit})
	s.link(1, v(7, 3))
	s.pass(time.Second)
	s.suspicion(3, 2, v(7, 3))
	s.pass(time.Second)
	s.alive(2, far)
	sent := wire.Version{}
	for _, to := range s.pass(25 * time.Millisecond) {
		if l := to.Message.Lists; to.Message.Kind == wire.Update && len(l.Alive) == 1 && l.Alive[0].Node == s.ref[2] {
			sent = l.Alive[0].Version
		}
	}
	if sent != far {
		t.Errorf("it passes on %v", sent)
	}
	s.suspicion(4, 2, v(7, 3))
	s.suspicion(3, 2, v(7, 3))
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
