package o2iblnd

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd"
)

// TestLeaveBy: of two messages that have waited for a connection, the one that must have left before it is made is not
// sent.
func TestLeaveBy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVirtual(t, Config{})
		v.net.Cut(v.at[0], v.at[1], true)
		for _, within := range []time.Duration{time.Second, time.Minute} {
			m := newMessage(v.nis[0], v.nis[1].nid, 100)
			m.LeaveBy = v.clock.Now() + within
			v.nis[0].Send(m)
		}
		v.clock.Run(time.Second + 1)
		v.net.Cut(v.at[0], v.at[1], false)
		v.until("end", 10*time.Second, func(s *sink) bool { return s.finished == 2 }, v.ups[0])
		v.until("message", time.Second, func(s *sink) bool { return s.arrived == 1 }, v.ups[1])
		if errs := v.ups[0].errs; len(errs) != 1 || !errors.Is(errs[0], lnd.ErrLate) || len(v.ups[0].downs) > 0 {
			t.Errorf("ended with %v, down %v", errs, v.ups[0].downs)
		}
		v.shut(0)
		v.shut(1)
	})
}
