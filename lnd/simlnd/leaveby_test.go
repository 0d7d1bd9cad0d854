package simlnd

import (
	"slices"
	"testing"
	"time"

	"ulnet/lnd"
)

// TestLeaveBy: of the messages that have waited for a connection, those that must have left before it is made are not
// sent.
func TestLeaveBy(t *testing.T) {
	n := newNet(t, 2, millisecond(), 0)
	n.Crash(1)
	a := n.ends[0]
	for bits, within := range map[uint64]time.Duration{1: time.Second, 2: time.Minute, 3: 0} {
		n.Do(0, func(h *Host) {
			m := message(0, 1, bits, 10)
			if within > 0 {
				m.LeaveBy = h.Clock().Now() + within
			}
			a.ni.Send(m)
		})
	}
	n.run(2 * time.Second)
	n.Start(1, false)
	n.run(7 * time.Second)
	if got := slices.Sorted(slices.Values(n.ends[1].got)); !slices.Equal(got, []uint64{2, 3}) {
		t.Errorf("got %v, want 2 and 3", got)
	}
	if len(a.ended) != 3 || count(a.ended, lnd.ErrLate) != 1 || count(a.ended, nil) != 2 || len(a.causes) > 0 {
		t.Errorf("ended with %v, down %v", a.ended, a.causes)
	}
}
