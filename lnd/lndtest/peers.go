package lndtest

import (
	"errors"
	"slices"
	"testing"

	"ulnet/lnd"
	"ulnet/lnet/nid"
)

// testIncarnations: each message has the incarnation of the NI that it came from, whatever
// connection brought it and whichever side opened the connection.
func testIncarnations(t *testing.T, f *fabric) {
	const each = 3
	for _, way := range []struct {
		from, to lnd.NI
		up       *recorder
	}{{f.a, f.b, f.upB}, {f.b, f.a, f.upA}} {
		var seen []uint64
		way.up.set(func() {
			way.up.parse = func(d *lnd.Delivery) (lnd.Answer, error) {
				way.up.set(func() { seen = append(seen, d.Incarnation) })
				accept(d, lnd.MaxPayload)
				return lnd.Accept, nil
			}
		})
		before := len(way.up.got)
		for i := range each {
			way.from.Send(f.put(way.from, way.to, fill(i*100000, 7)))
			f.await("arrival", way.up.count(before+i+1))
		}
		want := slices.Repeat([]uint64{f.h.Incarnation(way.from)}, each)
		if want[0] == 0 || !slices.Equal(seen, want) {
			t.Errorf("messages from %v have the incarnations %x, want %x", way.from.NID(), seen, want)
		}
	}
}

// testUnreachable: a message to a peer that is not there fails, and the peer is reported down. If a
// message waits for a connection, the driver tells lnet so before the message ends; it does not do so for
// a message that need not wait. All this is one test, because an attempt to reach such a peer takes
// seconds.
func testUnreachable(t *testing.T, f *fabric) {
	if !f.h.Unreachable.IsValid() {
		t.Skip("this driver has no peers to wait for")
	}
	first, lost := f.put(f.a, f.b, []byte("x")), f.put(f.a, f.b, []byte("y"))
	lost.Target.NID, lost.Header.DestNID = f.h.Unreachable, f.h.Unreachable
	f.a.Send(first)
	f.await("the first message", f.upB.count(1))
	f.await("its finalize", f.upA.ended(first))
	f.a.Send(lost)
	f.await("the end of a message to nobody", f.upA.ended(lost))
	f.await("PeerDown", func() bool {
		f.upA.mu.Lock()
		defer f.upA.mu.Unlock()
		return len(f.upA.down) > 0
	})
	f.upA.set(func() {
		if f.upA.finalized[lost] == nil {
			t.Error("a message to nobody was sent without an error")
		}
		if f.upA.waited[first] == 0 {
			t.Error("lnet was not told that the first message waited for the connection")
		}
		f.upA.waited = make(map[*lnd.Message]int)
	})
	for i := range 20 {
		next := f.put(f.a, f.b, []byte("z"))
		f.a.Send(next)
		f.await("arrival", f.upB.count(2+i))
		f.await("finalize", f.upA.ended(next))
	}
	f.upA.set(func() {
		if n := len(f.upA.waited); n > 0 {
			t.Errorf("%d messages waited for a connection that was there", n)
		}
		if f.upA.late > 0 {
			t.Errorf("lnet was told of %d messages after their end", f.upA.late)
		}
	})
}

// testPeers: each end reports PeerUp once, when the first connection to the peer exists,
// and PeerDown when the last one has ended. If one NI is shut down, the other end reports
// PeerDown too.
func testPeers(t *testing.T, f *fabric) {
	if !f.h.Unreachable.IsValid() {
		t.Skip("this driver has no peers to miss")
	}
	for range 3 {
		f.a.Send(f.put(f.a, f.b, []byte("there")))
		// Long enough that a driver with several types of connections uses another type than for the PUT
		// above.
		f.b.Send(f.put(f.b, f.a, fill(100000, 6)))
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

// testClosePeer: when lnet ends the connections to a peer, both ends report PeerDown, this end with lnet's
// cause, and later messages open another connection. If lnet names another incarnation than the peer has,
// no connection ends. A connection that is being made at that time may be established and then end,
// together with the message on it; so the test sends the message again until it arrives.
func testClosePeer(t *testing.T, f *fabric) {
	closer, ok := f.a.(lnd.PeerCloser)
	if !ok || !f.h.Unreachable.IsValid() {
		return // the driver has no connections, or cannot end them
	}
	cause := errors.New("test: the node is down")
	f.a.Send(f.put(f.a, f.b, []byte("there")))
	f.await("arrival", f.upB.count(1))
	f.await("PeerUp", f.upA.told(true))
	f.await("PeerUp at the other end", f.upB.told(true))
	closer.ClosePeer(f.h.Unreachable, 0, cause) // without effect, because no node has this NID
	if f.h.Incarnation != nil {
		closer.ClosePeer(f.b.NID(), f.h.Incarnation(f.b)+1, errors.New("test: of another incarnation"))
		closer.ClosePeer(f.b.NID(), f.h.Incarnation(f.b), cause)
	} else {
		closer.ClosePeer(f.b.NID(), 0, cause)
	}
	for _, up := range []*recorder{f.upA, f.upB} {
		f.await("PeerDown at both ends", func() bool {
			up.mu.Lock()
			defer up.mu.Unlock()
			return len(up.down) > 0
		})
	}
	f.upA.set(func() {
		if err := f.upA.down[0]; !errors.Is(err, cause) {
			t.Errorf("down because of %v, want %v", err, cause)
		}
	})
	f.await("arrival by another connection", func() bool {
		m := f.put(f.a, f.b, []byte("there again"))
		f.a.Send(m)
		return f.h.Await(f.upA.ended(m)) && f.upB.count(2)()
	})
}
