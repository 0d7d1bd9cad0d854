package lnet_test

import (
	"errors"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd"
	"ulnet/lnet"
)

// TestLeaveBy: a message that has waited for a credit until after the time by which it must leave is not sent. It
// fails with ETIMEDOUT, and no NI is blamed.
func TestLeaveBy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, lnd.Tunables{PeerCredits: 1}, lnet.Config{})
		now := r.node.Clock().Now()
		r.send(peerA, 1)
		for bits, within := range map[uint64]time.Duration{2: time.Second, 3: time.Minute} {
			m := put(peerA, bits)
			m.LeaveBy = now + within
			r.node.Send(m)
		}
		<-time.After(time.Second + 1)
		for r.finalize(nil) {
		}
		for bits, want := range map[uint64]error{1: nil, 2: lnd.ErrLate, 3: nil} {
			r.wantResult(bits, want)
		}
		if errno, _ := errors.AsType[syscall.Errno](lnd.ErrLate); errno != syscall.ETIMEDOUT {
			t.Error("a late message has no errno of LNet")
		}
		if h := r.node.Stats().NetworkTimeout; h != 0 {
			t.Errorf("an NI is blamed for a late message %d times", h)
		}
	})
}
