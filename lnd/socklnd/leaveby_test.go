package socklnd

import (
	"errors"
	"testing"
	"time"

	"ulnet/lnd"
)

// TestLeaveBy: of two messages that have waited for a connection, the one that must have left before it is made is not
// sent.
func TestLeaveBy(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, l := dialScene(t, Config{})
		for i, within := range []time.Duration{time.Second, time.Minute} {
			m := newPut(h.id(), probeID, pattern(8+i))
			m.LeaveBy = h.ni.clock.Now() + within
			h.ni.Send(m)
		}
		time.Sleep(time.Second + 1) // virtual time
		control := l.answered(t, dialCtl, replyCtl)
		if got := control.read(24 + 72 + 9); len(got) != 105 || got[24+28] != 9 {
			t.Errorf("first message: %x", got)
		}
		ended := h.wantFinalized(2)
		if late := errors.Is(ended[0], lnd.ErrLate); late == errors.Is(ended[1], lnd.ErrLate) || ended[0] != nil && ended[1] != nil {
			t.Errorf("ended with %v, want %v and nil", ended, lnd.ErrLate)
		}
	})
}
