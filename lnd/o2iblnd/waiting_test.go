package o2iblnd

import (
	"testing"

	"ulnet/lnd/lndtest"
	"ulnet/lnd/verbs/softroce"
	"ulnet/lnet/nid"
)

// TestNTXOfUnreachable: messages that wait for connections are not counted against ntx, so that
// unreachable peers do not stop messages to others.
func TestNTXOfUnreachable(t *testing.T) {
	at := loopbackAddrs(22)
	a, b := new(sink), new(sink)
	x, y := start(t, at[0], softroce.Open, Config{NTX: 4}, a), start(t, at[1], softroce.Open, Config{}, b)
	t.Cleanup(func() { shut(x); shut(y) })
	for _, unused := range at[2:] {
		for range 10 {
			x.Send(newMessage(x, nid.FromAddr(x.nid.Net(), unused), 8))
		}
	}
	for i := range 3 {
		x.Send(newMessage(x, y.nid, 8))
		if !lndtest.Poll(func() bool { b.mu.Lock(); defer b.mu.Unlock(); return b.arrived == i+1 }) {
			t.Fatalf("message %d to the live peer did not arrive: %v", i, x.counts.nonzero())
		}
	}
	if n := x.counts[NoTx].Load(); n != 0 {
		t.Errorf("%d messages found no place of ntx", n)
	}
	if n := x.waiting.Load(); n < 200 {
		t.Errorf("%d messages are counted as waiting, want 200 at least", n)
	}
	shut(x)
	if n := x.waiting.Load(); n != 0 {
		t.Errorf("%d messages wait in the end", n)
	}
}

// TestNTX: the messages that do not wait for a connection are limited to ntx, plus three times the
// queue depth for each connection: for a full queue, and for twice as many answers to GET_REQs (OB-3).
func TestNTX(t *testing.T) {
	x := start(t, loopbackAddrs(1)[0], softroce.Open, Config{NTX: 4}, new(sink))
	t.Cleanup(func() { shut(x) })
	for n, full := range map[int64]bool{4: false, 5: true} {
		if x.full(n) != full {
			t.Errorf("%d messages: full is %v", n, !full)
		}
	}
	x.waiting.Store(3)
	if x.full(7) || !x.full(8) {
		t.Error("messages that wait for a connection are counted")
	}
	x.waiting.Store(0)
	c := new(conn)
	x.conns.add(c)
	if room := int64(4 + 3*x.depth); x.full(room) || !x.full(room+1) {
		t.Error("a connection has no room of its own")
	}
	x.conns.remove(c)
}
