package portals_test

import (
	"context"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// handClock is a clock that a test sets; its timers never fire.
type handClock struct{ now time.Duration }

func (c *handClock) Now() time.Duration                            { return c.now }
func (c *handClock) AfterFunc(time.Duration, func()) machine.Timer { return stopped{} }

type stopped struct{}

func (stopped) Stop() bool { return true }

// liveness is a table on a network, with a clock that the test sets.
type liveness struct {
	*portals.Table
	t     *testing.T
	net   *network
	clock handClock
}

func newLiveness(t *testing.T, cfg lnet.Config) *liveness {
	l := &liveness{t: t}
	cfg.Incarnation, cfg.Clock = incarnation, &l.clock
	l.Table, l.net = newWireOn(t, lnet.New(cfg), lnd.Tunables{})
	return l
}

// hear makes a PUT from the given process arrive, which the driver received at the given time. No
// match entry takes the PUT.
func (l *liveness) hear(id nid.ProcessID, at time.Duration) {
	l.t.Helper()
	h := putHeader(0, wire.PutCmd{AckMD: wire.NoHandle(), Portal: 9})
	h.SrcNID, h.SrcPID = id.NID, id.PID
	l.deliver(h, id, at)
}

func (l *liveness) deliver(h wire.Header, id nid.ProcessID, at time.Duration) {
	l.t.Helper()
	d := &lnd.Delivery{Header: h, From: id, ReceivedAt: at}
	answer, err := l.net.up.Parse(d)
	if err != nil {
		l.t.Fatal(err)
	}
	if answer == lnd.Accept {
		l.net.up.Delivered(d, nil)
	}
}

func (l *liveness) wantHeard(id nid.ProcessID, want time.Duration) {
	l.t.Helper()
	if at, ok := l.LastHeard(id); !ok || at != want {
		l.t.Errorf("%v was heard at %v, %v, want %v", id, at, ok, want)
	}
}

func (l *liveness) wantNever(id nid.ProcessID) {
	l.t.Helper()
	if at, ok := l.LastHeard(id); ok {
		l.t.Errorf("%v was heard at %v, want never", id, at)
	}
}

// TestLastHeard: CH-8: every message counts, whatever portal it is for, with the time at
// which the driver received it (CH-35).
func TestLastHeard(t *testing.T) {
	spec.Covers(t, "CH-8", "CH-35")
	l := newLiveness(t, lnet.Config{})
	l.clock.now = time.Hour // the time at which a message is handled does not matter
	l.wantNever(there)
	l.hear(there, 0)
	l.wantHeard(there, 0)
	l.hear(there, 5*time.Second)
	l.wantHeard(there, 5*time.Second)
	l.hear(there, 4*time.Second) // this message came on another connection, whose reader was busy
	l.wantHeard(there, 5*time.Second)
	for i, h := range []wire.Header{
		ackHeader(handle(1), 0), replyHeader(0, handle(1)), getHeader(wire.GetCmd{ReturnMD: handle(1), Portal: 9}),
	} {
		at := time.Duration(10+i) * time.Second
		l.deliver(h, there, at)
		l.wantHeard(there, at)
	}
	l.wantHeard(nid.ProcessID{NID: there.NID}, 12*time.Second)
	l.wantHeard(nid.ProcessID{NID: there.NID, PID: nid.PIDAny}, 12*time.Second)

	if err := l.Node().FailNID(there.NID, 1); err != nil {
		t.Fatal(err)
	}
	l.hear(there, 20*time.Second)
	l.wantHeard(there, 12*time.Second)
	l.wantNever(here)
}

// TestLastHeardOfProcesses: CH-8: processes with one NID are distinguished by their PID, and
// any NID of a node stands for the node.
func TestLastHeardOfProcesses(t *testing.T) {
	spec.Covers(t, "CH-8")
	l := newLiveness(t, lnet.Config{})
	user := nid.ProcessID{NID: there.NID, PID: nid.UserPID | 7}
	l.hear(there, time.Second)
	l.wantNever(user)
	l.hear(user, 2*time.Second)
	l.wantHeard(there, time.Second)
	l.wantHeard(user, 2*time.Second)

	second := nid.ProcessID{NID: nid.MustParse("10.0.0.7@tcp"), PID: there.PID}
	l.wantNever(second)
	l.Node().SetPeer(lnet.Peer{Primary: primary.NID, NIs: []wire.NIStatus{{NID: primary.NID}, {NID: there.NID}, {NID: second.NID}}})
	l.wantHeard(second, time.Second)
	l.wantHeard(primary, time.Second)
	l.hear(second, 3*time.Second)
	l.wantHeard(there, 3*time.Second)
	l.wantHeard(nid.ProcessID{NID: primary.NID, PID: user.PID}, 2*time.Second)
}

// TestLastHeardIsBounded: for each NID the latest processes are remembered, up to a limit.
func TestLastHeardIsBounded(t *testing.T) {
	l := newLiveness(t, lnet.Config{})
	process := func(i int) nid.ProcessID { return nid.ProcessID{NID: there.NID, PID: nid.UserPID | nid.PID(i)} }
	for i := range 64 {
		l.hear(process(i), time.Duration(i))
	}
	l.hear(process(0), 100)
	l.hear(process(64), 101)
	l.wantHeard(process(0), 100)
	l.wantNever(process(1)) // the process silent for longest has been forgotten
	l.wantHeard(process(2), 2)
	l.wantHeard(process(64), 101)
}

// TestReceivedAtWhileHeld: CH-35: a message that waited at a lazy portal, or was handled
// late, counts with the time at which the driver received it.
func TestReceivedAtWhileHeld(t *testing.T) {
	spec.Covers(t, "CH-35")
	l := newLiveness(t, lnet.Config{})
	if err := l.SetLazy(9); err != nil {
		t.Fatal(err)
	}
	l.clock.now = time.Minute
	l.net.held++
	l.hear(there, 50*time.Second)
	l.clock.now = time.Hour
	var seen log
	h := harness{Table: l.Table, t: t}
	h.post(9, portals.Match{}, portals.MD{Options: portals.OpPut, Threshold: 1, Handler: seen.handle})
	if len(seen.events) != 1 || seen.events[0].ReceivedAt != 50*time.Second {
		t.Errorf("events %v, want one of 50s", seen.events)
	}
	l.wantHeard(there, 50*time.Second)
}

// TestLastSent: a message counts when it has left. The time is the one that the driver gives
// or, if it gives none, that of the clock.
func TestLastSent(t *testing.T) {
	l := newLiveness(t, lnet.Config{})
	h := harness{Table: l.Table, t: t}
	md := h.bind(portals.MD{Threshold: portals.ThresholdInfinite})
	put := func() *lnd.Message {
		t.Helper()
		if err := l.Put(portals.PutRequest{MD: md, Target: nid.ProcessID{NID: there.NID}}); err != nil {
			t.Fatal(err)
		}
		return l.net.next()
	}
	want := func(want time.Duration, ok bool) {
		t.Helper()
		if at, known := l.LastSent(there); at != want || known != ok {
			t.Errorf("sent at %v, %v, want %v, %v", at, known, want, ok)
		}
	}
	l.clock.now = time.Second
	m := put()
	want(0, false)
	l.net.finalize(m, syscall.ECONNRESET)
	want(0, false)
	m = put()
	l.clock.now = 2 * time.Second
	l.net.finalize(m, nil)
	want(2*time.Second, true)
	l.clock.now = 5 * time.Second
	m = put()
	m.SentAt = 4 * time.Second
	l.net.finalize(m, nil)
	want(4*time.Second, true)
	m = put()
	l.net.finalize(m, nil) // the driver gives no time for this message, and its time for the message before does not count
	want(5*time.Second, true)
	if at, ok := l.LastSent(nid.ProcessID{NID: there.NID, PID: 7}); ok {
		t.Errorf("sent to another process at %v", at)
	}
}

// TestForgottenPeer: a peer that was removed from a full table counts as never heard. A watch
// for it remains.
func TestForgottenPeer(t *testing.T) {
	l := newLiveness(t, lnet.Config{MaxPeers: 1})
	var told []bool
	stop := l.WatchPeer(there, func(c portals.PeerChange) { told = append(told, c.Up) })
	defer stop()
	other := nid.ProcessID{NID: nid.MustParse("10.0.0.3@tcp"), PID: nid.LustrePID}
	l.net.up.PeerUp(there)
	l.hear(there, 1)
	l.net.up.PeerDown(there, syscall.ECONNRESET)
	l.hear(other, 2)
	l.wantNever(there)
	l.wantHeard(other, 2)
	l.net.up.PeerDown(other, syscall.ECONNRESET)
	l.net.up.PeerUp(there)
	l.hear(there, 3)
	l.wantHeard(there, 3)
	if len(told) != 3 || !told[0] || told[1] || !told[2] {
		t.Errorf("told %v, want up, down, up", told)
	}
}

// TestSelf: CH-8: a node that is its own client hears from itself, under each of its NIDs.
func TestSelf(t *testing.T) {
	spec.Covers(t, "CH-8")
	h := newHarness(t)
	if _, ok := h.LastHeard(h.self); ok {
		t.Error("heard before anything was sent")
	}
	up := 0
	defer h.WatchPeer(h.self, func(portals.PeerChange) { up++ })()
	md := h.bind(portals.MD{Threshold: 1})
	if err := h.Put(portals.PutRequest{MD: md, Target: h.self, Portal: 1}); err != nil {
		t.Fatal(err)
	}
	heard, ok := h.LastHeard(h.self)
	sent, left := h.LastSent(h.self)
	if !ok || !left || heard != sent || up != 1 {
		t.Errorf("heard %v at %v, sent %v at %v, told %d times that it is up", ok, heard, left, sent, up)
	}
}

// TestLivenessAllocates: recording a message allocates nothing, and neither do LastHeard and LastSent.
func TestLivenessAllocates(t *testing.T) {
	l := newLiveness(t, lnet.Config{})
	defer l.WatchPeer(there, func(portals.PeerChange) {})()
	d := &lnd.Delivery{Header: putHeader(0, wire.PutCmd{AckMD: wire.NoHandle(), Portal: 9}), From: there}
	var missing int
	allocs := testing.AllocsPerRun(1000, func() {
		d.ReceivedAt++
		if _, err := l.net.up.Parse(d); err != nil {
			t.Fatal(err)
		}
		if at, ok := l.LastHeard(there); !ok || at != d.ReceivedAt {
			missing++
		}
	})
	if allocs != 0 || missing != 0 {
		t.Errorf("%v allocations, %d not heard", allocs, missing)
	}
	if err := l.Node().Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
}
