package lndtest

import (
	"slices"
	"testing"

	"ulnet/lnd"
	"ulnet/lnet/nid"
)

func testUnreachable(t *testing.T, f *fabric) {
	if !f.h.Unreachable.IsValid() {
		t.Skip("this driver has no peers to miss")
	}
	m := f.put(f.a, f.b, []byte("x"))
	m.Target = nid.ProcessID{NID: f.h.Unreachable, PID: nid.LustrePID}
	m.Header.DestNID = f.h.Unreachable
	f.a.Send(m)
	f.await("finalize", f.upA.ended(m))
	if f.upA.finalized[m] == nil {
		t.Error("a message to nobody was sent without an error")
	}
	f.await("PeerDown", func() bool {
		f.upA.mu.Lock()
		defer f.upA.mu.Unlock()
		return len(f.upA.down) > 0
	})
}

// testPeers: the first connection to a peer is reported, and the end of the last
// one: at the other end too when the NI there is shut down.
func testPeers(t *testing.T, f *fabric) {
	if !f.h.Unreachable.IsValid() {
		t.Skip("this driver has no peers to miss")
	}
	for range 3 {
		f.a.Send(f.put(f.a, f.b, []byte("there")))
		f.b.Send(f.put(f.b, f.a, fill(100000, 6))) // another type of connection, if there is one
	}
	f.await("arrivals", func() bool { return f.upA.count(3)() && f.upB.count(3)() })
	f.await("PeerUp at a, once", f.upA.told(true))
	f.await("PeerUp at b, once", f.upB.told(true))
	if err := f.b.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	f.await("PeerDown at the NI that is shut down", f.upB.told(true, false))
	f.await("PeerDown at the other", f.upA.left())
	for _, e := range []struct {
		up   *recorder
		peer lnd.NI
	}{{f.upA, f.b}, {f.upB, f.a}} {
		want := nid.ProcessID{NID: e.peer.NID(), PID: nid.LustrePID}
		e.up.mu.Lock()
		if slices.ContainsFunc(e.up.peers, func(id nid.ProcessID) bool { return id != want }) {
			t.Errorf("told of %v, want %v", e.up.peers, want)
		}
		if slices.Contains(e.up.down, nil) {
			t.Errorf("down without a cause: %v", e.up.down)
		}
		e.up.mu.Unlock()
	}
}
