package lnet_test

import (
	"syscall"
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/router"
)

// TestForwardToProcess: a sender behind a router names processes of a node that do not exist. Their messages go to
// the process LustrePID of that node, so the router makes no connection for each of them. A process that is connected
// gets its messages, and so does one with the userspace flag, which a driver never dials. The header stays as it came.
func TestForwardToProcess(t *testing.T) {
	spec.Covers(t, "RO-20")
	c := newCrossing(t, lnd.Tunables{}, router.Config{})
	want := func(when string, named, to nid.PID) {
		t.Helper()
		d := passing(10, 1)
		d.Header.DestPID = named
		if taken, _ := c.pass(d); !taken || len(c.far.sent) != 1 {
			t.Fatalf("%s: taken %v, %d messages on the far side", when, taken, len(c.far.sent))
		}
		m := c.far.sent[0]
		if m.Target != (nid.ProcessID{NID: peer1, PID: to}) || m.Header.DestPID != named {
			t.Errorf("%s: goes to %v with PID %d in the header, want %d and %d", when, m.Target, m.Header.DestPID, to, named)
		}
		c.far.finalize(nil)
	}
	for pid := range nid.PID(100) {
		want("nothing is connected", pid, nid.LustrePID)
	}
	want("any process", nid.PIDAny, nid.LustrePID)
	want("a user's process", nid.UserPID|40000, nid.UserPID|40000)
	c.far.up.PeerUp(nid.ProcessID{NID: peer1, PID: 77})
	want("it is connected", 77, 77)
	want("another process is connected", 78, nid.LustrePID)
	c.far.up.PeerDown(nid.ProcessID{NID: peer1, PID: 77}, syscall.ECONNRESET)
	want("its connection has ended", 77, nid.LustrePID)
}
