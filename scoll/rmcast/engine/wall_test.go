package engine

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/scoll/rmcast/wire"
)

// TestClockSetForward: RM-A9: the wall clock is set forward by a month after the start, or the system was suspended
// for that long. From the next message of a member or manager on, epochs and incarnations are compared with it. A
// wall clock that was set back later does not make the limit lower.
func TestClockSetForward(t *testing.T) {
	spec.Covers(t, "RM-A9")
	const month = uint64(30 * 24 * time.Hour)
	w := clocked(t, 3, 1)
	h, g := w.hosts[2], w.hosts[0].g
	now := w.net.Now()
	for i, wall := range []uint64{0, testWall, testWall + month, testWall} {
		now++
		join := wire.Order{Kind: wire.OrderJoin, Group: testGroup, Incarnation: testWall + month, MTU: 2048}
		g.Step(now, Input{Kind: Instructed, From: hostNID(1), Data: join.AppendTo(nil), Wall: wall}, &Output{})
		state := wire.Order{Kind: wire.OrderState, Group: testGroup, Epoch: testWall + month, Version: wire.Version{Epoch: testWall + month}, Incarnation: h.m.self.Incarnation}
		h.m.Step(now, Input{Kind: Instructed, From: hostNID(0), Data: state.AppendTo(nil), Wall: wall}, &Output{})
		if refused := uint64(min(i+1, 2)); g.stats.Ahead != refused || h.m.stats.Ahead != refused {
			t.Errorf("wall clock %d: the manager has refused %d messages, and the member %d, want %d", i, g.stats.Ahead, h.m.stats.Ahead, refused)
		}
	}
}
