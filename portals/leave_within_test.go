package portals_test

import (
	"errors"
	"slices"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnet"
	"ulnet/portals"
)

// TestLeaveWithin: a PUT that may wait only for some time is not sent after a longer wait: its SEND event has ETIMEDOUT.
// One that need not wait is given to the driver with the time by which it must leave.
func TestLeaveWithin(t *testing.T) {
	h, net, clock := timed(t, lnet.Config{}, lnd.Tunables{PeerCredits: 1})
	var log []string
	md := h.bind(portals.MD{Threshold: portals.ThresholdInfinite, Handler: func(e *portals.Event) { log = append(log, short(e)) }})
	for _, within := range []time.Duration{time.Second, time.Second, time.Minute} {
		if err := h.Put(portals.PutRequest{MD: md, Target: there, LeaveWithin: within}); err != nil {
			t.Fatal(err)
		}
	}
	first := net.next()
	if want := clock.Now() + time.Second; first.LeaveBy != want {
		t.Errorf("the message must leave by %v, want %v", first.LeaveBy, want)
	}
	clock.advance(2 * time.Second)
	net.finalize(first, nil)
	net.finalize(net.next(), nil)
	if want := []string{"SEND", "SEND " + lnd.ErrLate.Error(), "SEND"}; !slices.Equal(log, want) {
		t.Errorf("events %q, want %q", log, want)
	}
	if err := h.Put(portals.PutRequest{MD: md, Target: there}); err != nil {
		t.Fatal(err)
	}
	if m := net.next(); m.LeaveBy != 0 {
		t.Errorf("a PUT without LeaveWithin must leave by %v", m.LeaveBy)
	}
	if err := h.Put(portals.PutRequest{MD: md, Target: there, LeaveWithin: -1}); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("negative time: %v, want EINVAL", err)
	}
}
