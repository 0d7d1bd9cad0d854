package socklnd

import (
	"errors"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/nid"
)

// These tests play the behavior of kernels when connections are opened and closed, as
// recorded in tcp-ping-race, tcp-ping-teardown and tcp-err-peerlost, and that of a peer that
// restarts with another incarnation.

// raceScene is our NI at 10.0.0.2 and a kernel with a higher NID at 10.0.0.3.
type raceScene struct {
	t      *testing.T
	net    *memNet
	h      *host
	l      *memListener
	winner nid.ProcessID
}

func newRaceScene(t *testing.T) *raceScene {
	t.Helper()
	n := newMemNet()
	l, err := n.listen(netip.MustParseAddrPort("10.0.0.3:988"))
	if err != nil {
		t.Fatal(err)
	}
	return &raceScene{
		t: t, net: n, l: l.(*memListener), h: start(t, "10.0.0.2", n.config(Config{})),
		winner: nid.ProcessID{NID: nid.MustParse("10.0.0.3@tcp"), PID: nid.LustrePID},
	}
}

// of3 replaces the address 10.0.0.1 in a record by 10.0.0.3.
func of3(record string) string { return strings.ReplaceAll(record, "0100000a", "0300000a") }

// opens plays the handshake of a connection that 10.0.0.3, the winner of the race, dials.
func (s *raceScene) opens(from, opening, answer string) *probe {
	s.t.Helper()
	p := s.net.connect(s.t, from, "10.0.0.2:988")
	go p.send(request, of3(opening))
	p.expect(of3(answer))
	return p
}

// TestRaceLost (SK-17) is tcp-ping-race from the side of the lower NID. This node's CONTROL is
// refused; the peer's CONTROL comes and takes the message. This node then dials the next type
// at once, without the pause, and is refused again while the peer opens the remaining
// connections. In the end no connection is missing.
func TestRaceLost(t *testing.T) {
	spec.Covers(t, "SK-17")
	bubble(t, func(t *testing.T) {
		s := newRaceScene(t)
		s.h.put(s.winner)
		s.l.answered(t, of3(dialCtl), of3(replyNone)).expectEnd()
		time.Sleep(8 * time.Millisecond)
		begin := time.Now()
		control := s.opens("10.0.0.3:1023", helloCtl, answerCtl)
		control.read(lnetHeaders)
		bulkIn := s.l.accept(t)
		bulkIn.expect(of3(dialIn))
		if d := time.Since(begin); d != 0 {
			t.Errorf("next type dialled after %v", d)
		}
		bulkIn.send(of3(replyNone))
		bulkIn.expectEnd()
		s.opens("10.0.0.3:1022", helloIn, answerOut)
		again := s.l.accept(t) // the peer's new connection has ended the pause, and so started this dial
		again.expect(of3(dialIn))
		again.send(of3(replyNone))
		s.opens("10.0.0.3:1021", helloOut, answerIn)
		s.l.expectNoDial(t, 20*time.Second)
		if err := s.h.wantFinalized(1)[0]; err != nil {
			t.Error(err)
		}
		if len(s.h.downs) != 0 || s.h.conns() != 3 {
			t.Errorf("%d connections, down: %v", s.h.conns(), s.h.downs)
		}
		s.h.wantCount(DialRefused, 3)
	})
}

// TestRaceLostByAccept: any connection that the peer opens ends the wait of a
// refused dial, not only one of the refused type.
func TestRaceLostByAccept(t *testing.T) {
	for name, open := range map[string][2]string{
		"CONTROL": {helloCtl, answerCtl}, "BULK_IN": {helloIn, answerOut}, "BULK_OUT": {helloOut, answerIn},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := newRaceScene(t)
				s.h.put(s.winner)
				s.l.answered(t, of3(dialCtl), of3(replyNone)).expectEnd()
				time.Sleep(300 * time.Millisecond)
				begin := time.Now()
				s.opens("10.0.0.3:1023", open[0], open[1])
				s.l.accept(t)
				if d := time.Since(begin); d != 0 {
					t.Errorf("dialled again after %v", d)
				}
			})
		})
	}
}

// TestPeerShutsDown is tcp-ping-teardown: the peer closes one of its connections between messages.
// The NI closes the others at once, and reports the peer as down once.
func TestPeerShutsDown(t *testing.T) {
	for name, which := range map[string]int{"CONTROL first": 0, "BULK_IN first": 1, "BULK_OUT first": 2} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h, k := established(t, Config{})
				all := []*probe{k.control, k.bulkIn, k.bulkOut}
				all[which].Close()
				for i, p := range all {
					if i == which {
						continue
					}
					if d := p.expectEnd(); d != 0 {
						t.Errorf("closed after %v", d)
					}
				}
				synctest.Wait()
				if len(h.downs) != 1 || h.conns() != 0 {
					t.Errorf("%d connections, down %v", h.conns(), h.downs)
				}
				h.wantCount(PeerClosed, 1)
			})
		})
	}
}

// TestPeerLost is tcp-err-peerlost: after the peer has shut down the next
// message dials, the connection is refused, and the message fails at once.
func TestPeerLost(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, l := dialScene(t, Config{})
		h.put(probeID)
		conns := l.openAll(t)
		conns[0].read(lnetHeaders)
		synctest.Wait() // wait until all connections are established on our side, too
		_ = l.Close()
		for _, c := range conns {
			c.Close()
		}
		time.Sleep(1700 * time.Millisecond)
		begin := time.Now()
		h.put(probeID)
		err := h.wantFinalized(2)[1]
		if !errors.Is(err, syscall.EHOSTUNREACH) || !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("message ended with %v", err)
		}
		if d := time.Since(begin); d != 0 {
			t.Errorf("after %v", d)
		}
		h.await("PeerDown again", func() bool { return len(h.downs) == 2 })
		for i, why := range []Reason{PeerClosed, ConnectFailed} {
			if e, ok := errors.AsType[*Error](h.downs[i]); !ok || e.Reason != why {
				t.Errorf("down because of %v, want %v", h.downs[i], why)
			}
		}
	})
}

// TestComingBack: this node has restarted with another incarnation. While a kernel closes the
// connections of the old incarnation, it refuses new ones. The message waits for one retry, and no
// peer is reported as down.
func TestComingBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, l := dialScene(t, Config{})
		begin := time.Now()
		h.put(probeID)
		l.answered(t, dialCtl, replyNone).expectEnd()
		l.openAll(t)[0].read(lnetHeaders)
		if d := time.Since(begin); d != time.Second {
			t.Errorf("took %v, want min_reconnectms", d)
		}
		if err := h.wantFinalized(1)[0]; err != nil || len(h.downs) > 0 {
			t.Errorf("message ended with %v, peer down: %v", err, h.downs)
		}
	})
}

// TestConnsPerPeer (SK-16): the NI dials its connections in the order in which kernels do. Messages use
// the BULK_OUT connections in turn, or always the first one with FirstIdle.
func TestConnsPerPeer(t *testing.T) {
	spec.Covers(t, "SK-16")
	for _, tt := range []struct {
		name string
		cfg  Config
		want []int // for each of four messages: index of the BULK_OUT connection that it takes
	}{
		{"in turn", Config{ConnsPerPeer: 4}, []int{0, 1, 2, 3}},
		{"always the first", Config{ConnsPerPeer: 4, FirstIdle: true}, []int{0, 0, 0, 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h, l := dialScene(t, tt.cfg)
				h.put(probeID)
				l.answered(t, dialCtl, replyCtl).read(lnetHeaders)
				var bulk []*probe
				for range 4 {
					l.answered(t, dialIn, replyOut)
					bulk = append(bulk, l.answered(t, dialOut, replyIn))
				}
				l.expectNoDial(t, time.Second)
				for _, i := range tt.want {
					h.put(probeID, pattern(2000))
					if got := bulk[i].read(lnetHeaders + 2000); len(got) != lnetHeaders+2000 {
						t.Fatalf("%d bytes on connection %d", len(got), i)
					}
					synctest.Wait()
				}
			})
		})
	}
}

// TestBusyConnectionIsAvoided: a message takes the connection with the fewest
// bytes to send.
func TestBusyConnectionIsAvoided(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, l := dialScene(t, Config{ConnsPerPeer: 2})
		h.put(probeID)
		l.answered(t, dialCtl, replyCtl).read(lnetHeaders)
		l.answered(t, dialIn, replyOut)
		l.answered(t, dialOut, replyIn)
		l.answered(t, dialIn, replyOut)
		free := l.answered(t, dialOut, replyIn)
		synctest.Wait()
		h.put(probeID, pattern(1<<20)) // occupies the first connection, which the peer does not read
		for range 5 {
			h.put(probeID, pattern(2000))
			if got := free.read(lnetHeaders + 2000); len(got) != lnetHeaders+2000 {
				t.Fatalf("%d bytes", len(got))
			}
			synctest.Wait()
		}
		for _, c := range h.ni.Snapshot().Peers[0].Conns {
			if c.Type == ksock.BulkOut && c.QueuedBytes != 0 && c.QueuedBytes != int64(lnetHeaders+1<<20) {
				t.Errorf("%d bytes queued", c.QueuedBytes)
			}
		}
	})
}
