package socklnd

import (
	"errors"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd/socklnd/ksock"
)

// openAll plays the handshakes of all three connections that our NI dials and returns the probe's
// ends: CONTROL, BULK_OUT, BULK_IN as the probe sees them.
func (l *memListener) openAll(t *testing.T) []*probe {
	t.Helper()
	return []*probe{
		l.answered(t, dialCtl, replyCtl), l.answered(t, dialIn, replyOut), l.answered(t, dialOut, replyIn),
	}
}

// TestDialOnly: a node without a listener is reached by the connections that it has dialled;
// when they are gone it dials again, and is reached again.
func TestDialOnly(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, l := dialScene(t, Config{Accept: AcceptNone})
		if got := h.ni.Snapshot().Listen; got.IsValid() {
			t.Errorf("listens on %v", got)
		}
		h.put(probeID)
		conns := l.openAll(t)
		conns[0].read(96)
		for round := 1; round <= 3; round++ {
			conns[0].send(pingGet)
			h.wantArrivals(round)
			synctest.Wait()
			for _, c := range h.ni.Snapshot().Peers[0].Conns {
				if !c.Dialled {
					t.Errorf("connection %+v", c)
				}
			}
			begin := time.Now()
			conns[round%3].Close()
			conns = l.openAll(t)
			if d := time.Since(begin); d != time.Second {
				t.Errorf("round %d: dialled again after %v, want 1 s", round, d)
			}
		}
		if h.await("PeerUp", func() bool { return len(h.ups) == 4 }); len(h.downs) != 3 {
			t.Errorf("%d times down, want 3", len(h.downs))
		}
	})
}

// TestDialOnlyBacksOff: while the peer is away the node dials it less and less often, and messages
// to the peer fail. When the peer is back the node connects to it.
func TestDialOnlyBacksOff(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, l := dialScene(t, Config{Accept: AcceptNone})
		h.put(probeID)
		conns := l.openAll(t)
		conns[0].read(96)
		begin := time.Now()
		_ = l.Close()
		conns[1].Close()
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		h.wantCount(ConnectFailed, 10) // dials after 1, 2, 4, 8, ... 60, 60 s
		h.put(probeID)
		if err := h.wantFinalized(2)[1]; !errors.Is(err, syscall.EHOSTUNREACH) {
			t.Errorf("message ended with %v", err)
		}
		back, err := l.net.listen(l.addr)
		if err != nil {
			t.Fatal(err)
		}
		conns = back.(*memListener).openAll(t)
		if d := time.Since(begin); d > 7*time.Minute {
			t.Errorf("found after %v", d)
		}
		conns[0].send(pingGet)
		h.wantArrivals(1)
	})
}

// TestListenerDoesNotRedial: a node that can be dialled leaves closed connections closed
// until there is something to send.
func TestListenerDoesNotRedial(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, l := dialScene(t, Config{})
		h.put(probeID)
		conns := l.openAll(t)
		conns[0].read(96)
		conns[2].Close()
		l.expectNoDial(t, 10*time.Minute)
		if n := len(h.ni.Snapshot().Peers); n != 0 {
			t.Errorf("%d peers remembered", n)
		}
	})
}

// TestUserspacePeers: processes of one host on unprivileged ports are separate peers. An error
// that ends one does not affect the other, none of them is dialled, and each gets its acks and
// answers on the connections that it opened.
func TestUserspacePeers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newMemNet()
		h := start(t, "10.0.0.2", n.config(Config{Accept: AcceptAll}))
		first, second := n.connect(t, "10.0.0.9:51234", "10.0.0.2:988"), n.connect(t, "10.0.0.9:51235", "10.0.0.2:988")
		for _, p := range []*probe{first, second} { // both say they are 10.0.0.1, with one CONTROL connection each
			go p.send(request, helloCtl)
			if len(p.read(56)) != 56 {
				t.Fatal("not let in")
			}
		}
		_, _ = first.Write(kernelPut(t, 77, pattern(20)))
		first.expect(noop(0, 77)) // the NOOP comes on the CONTROL connection, because this peer has no BULK_IN
		synctest.Wait()           // wait until our NI uses the connection second, whose HELLO it has answered
		peers := h.ni.Snapshot().Peers
		if len(peers) != 2 || len(peers[0].Conns) != 1 || len(peers[1].Conns) != 1 || peers[0].Conns[0].Type != ksock.Control {
			t.Fatalf("peers %+v", peers)
		}
		_ = first.Close()
		h.await("PeerDown", func() bool { return len(h.downs) == 1 })
		h.put(peers[1].ID, pattern(5000)) // bulk data takes the CONTROL connection, the only one
		second.read(24 + 72 + 5000)
		h.put(peers[0].ID)
		errs := h.wantFinalized(2)
		if !slices.ContainsFunc(errs, func(err error) bool { return errors.Is(err, syscall.EHOSTUNREACH) }) {
			t.Errorf("messages ended with %v", errs)
		}
		h.wantCount(NoRoute, 1)
		h.wantCount(ConnectFailed, 0)
	})
}

// TestUserspaceVersion2: an old user-space node of LNet opens one ANY connection in version 2,
// which carries everything.
func TestUserspaceVersion2(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newMemNet()
		h := start(t, "10.0.0.2", n.config(Config{Accept: AcceptAll}))
		p := n.connect(t, "10.0.0.9:51234", "10.0.0.2:988")
		go p.send(request, inVersion2(hello+"00000000 00000000"))
		p.read(56)
		h.await("PeerUp", func() bool { return len(h.ups) == 1 })
		h.put(h.ups[0], pattern(1<<20))
		if got := p.read(96 + 1<<20); len(got) != 96+1<<20 {
			t.Errorf("read %d bytes", len(got))
		}
	})
}
