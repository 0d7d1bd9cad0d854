package lnet_test

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
)

var errUnplugged = errors.New("test: eth0 has no carrier")

// TestLinkDown: what is sent by an NI whose link is down fails at once, with the reason; what
// its driver has is not touched, and with the link everything is as before.
func TestLinkDown(t *testing.T) {
	spec.Covers(t, "NS-4")
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	r.send(peerA, 1)
	r.ni.SetLink(errUnplugged)
	if _, ended := r.up.result(1); ended {
		t.Error("what the driver has was ended by lnet")
	}
	r.send(peerA, 2)
	r.wantResult(2, syscall.ENETDOWN)
	r.wantResult(2, errUnplugged)
	r.ni.SetLink(nil)
	r.send(peerA, 3)
	for r.finalize(nil) {
	}
	r.wantResult(1, nil)
	r.wantResult(3, nil)
}

// TestLinkStatus: snapshots have the state of the link and its reason. Only changes between
// up and down are told; a new reason replaces the old one.
func TestLinkStatus(t *testing.T) {
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	told := 0
	r.node.OnNIChange(func() { told++ })
	gone := errors.New("test: eth0 is gone")
	for i, c := range []struct {
		set    error
		status string
		cause  string
		told   int
	}{
		{nil, "up", "", 0},
		{errUnplugged, "down", "no carrier", 1},
		{errUnplugged, "down", "no carrier", 1},
		{gone, "down", "gone", 1},
		{nil, "up", "", 2},
	} {
		r.ni.SetLink(c.set)
		s := r.node.Overview().NIs[0]
		if s.Status != c.status || (s.Cause == "") != (c.cause == "") || !strings.Contains(s.Cause, c.cause) || told != c.told {
			t.Errorf("step %d: %s for %q, told %d times, want %s for %q, %d times", i, s.Status, s.Cause, told, c.status, c.cause, c.told)
		}
	}
}
