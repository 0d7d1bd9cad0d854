package socklnd

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/nid"
)

// What our NI at 10.0.0.2 sends when it dials a probe (a peer that the test plays) at 10.0.0.1, and
// the probe's answers.
const (
	dialRequest = "0071ceac 01000000 0100000a00000200 "
	dialHello   = "63697245 03000000 0200000a00000200 0100000a00000200 39300000 00000000 e803000000000000 0000000000000000 "
	dialCtl     = dialRequest + dialHello + "01000000 00000000"
	dialIn      = dialRequest + dialHello + "02000000 00000000"
	dialOut     = dialRequest + dialHello + "03000000 00000000"
	replyHello  = "63697245 03000000 0100000a00000200 0200000a00000200 39300000 00000000 8877665544332211 0000000000000000 "
	replyCtl    = replyHello + "01000000 00000000"
	replyIn     = replyHello + "02000000 00000000"
	replyOut    = replyHello + "03000000 00000000"
	replyNone   = replyHello + "ffffffff 00000000"
)

var probeID = nid.ProcessID{NID: nid.MustParse("10.0.0.1@tcp"), PID: nid.LustrePID}

// inVersion2 turns a record of version 3 into one of version 2.
func inVersion2(record string) string { return strings.Replace(record, " 03000000", " 02000000", 1) }

// dialScene is our NI at 10.0.0.2 and a probe, a peer that the test plays, which listens at 10.0.0.1.
func dialScene(t *testing.T, cfg Config) (*host, *memListener) {
	t.Helper()
	n := newMemNet()
	h := start(t, "10.0.0.2", n.config(cfg))
	l, err := n.listen(netip.MustParseAddrPort("10.0.0.1:988"))
	if err != nil {
		t.Fatal(err)
	}
	return h, l.(*memListener)
}

// answered takes the next connection and plays its handshake.
func (l *memListener) answered(t *testing.T, opening, reply string) *probe {
	t.Helper()
	p := l.accept(t)
	p.expect(opening)
	p.send(reply)
	return p
}

// expectNoDial checks that the NI dials no node within d.
func (l *memListener) expectNoDial(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case c := <-l.backlog:
		t.Errorf("somebody dialled from %v", c.RemoteAddr())
	case <-time.After(d):
	}
}

// TestActiveOpens (SK-16): the NI dials CONTROL, BULK_IN and BULK_OUT, from ports 1023, 1022 and
// 1021, and sends the message on CONTROL.
func TestActiveOpens(t *testing.T) {
	spec.Covers(t, "SK-16")
	bubble(t, func(t *testing.T) {
		h, l := dialScene(t, Config{})
		h.put(probeID, pattern(8))
		control := l.answered(t, dialCtl, replyCtl)
		if got := control.read(24 + 72 + 8); len(got) != 104 || got[0] != 0xc1 {
			t.Errorf("first message: %x", got)
		}
		l.answered(t, dialIn, replyOut)
		l.answered(t, dialOut, replyIn)
		l.expectNoDial(t, 20*time.Second)
		if got := l.net.ports(); !slices.Equal(got, []uint16{1023, 1022, 1021}) {
			t.Errorf("source ports %v", got)
		}
		if err := h.wantFinalized(1)[0]; err != nil {
			t.Error(err)
		}
		h.await("PeerUp", func() bool { return slices.Equal(h.ups, []nid.ProcessID{probeID}) })
	})
}

func TestActiveConnsPerPeer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, l := dialScene(t, Config{ConnsPerPeer: 2})
		h.put(probeID)
		l.answered(t, dialCtl, replyCtl).read(96)
		l.answered(t, dialIn, replyOut)
		l.answered(t, dialOut, replyIn)
		for range 3 { // the peer refuses more connections: the NI tries three times, and then no more
			l.answered(t, dialIn, replyNone)
		}
		l.expectNoDial(t, 20*time.Second)
		h.wantCount(DialRefused, 3)
		if conns := h.ni.Snapshot().Peers[0].Conns; len(conns) != 3 {
			t.Errorf("%d connections", len(conns))
		}
	})
}

// TestActiveFails (SK-6) is the table of answers that end an attempt: the message
// fails, the peer is down, and the next try has to wait.
func TestActiveFails(t *testing.T) {
	spec.Covers(t, "SK-6")
	for _, tt := range []struct {
		name, reply string
		after       time.Duration
		why         Reason
		status      syscall.Errno
	}{
		{name: "close", reply: "close", why: DialHelloCut, status: syscall.EHOSTUNREACH},
		{name: "half a HELLO", reply: replyCtl[:35] + "close", why: DialHelloCut, status: syscall.EHOSTUNREACH},
		{name: "silence", after: 49 * time.Second, why: ConnectTimeout, status: syscall.EHOSTUNREACH},
		{name: "bad magic", reply: "12345678", why: DialHelloBad, status: syscall.EPROTO},
		{name: "bad version", reply: "63697245 09000000", why: DialHelloBad, status: syscall.EPROTO},
		{name: "acceptor refusal", reply: acceptorRefused, why: DialHelloBad, status: syscall.EPROTO},
		{name: "addresses", reply: replyHello + "01000000 28000000", why: DialHelloBad, status: syscall.EPROTO},
		{name: "another NID", reply: strings.Replace(replyCtl, "0100000a", "0300000a", 1), why: DialHelloPeer, status: syscall.EPROTO},
		{name: "another PID", reply: strings.Replace(replyCtl, "39300000", "3a300000", 1), why: DialHelloPeer, status: syscall.EPROTO},
		{name: "another type", reply: replyIn, why: DialHelloType, status: syscall.EPROTO},
		{name: "another version without NONE", reply: inVersion2(replyCtl), why: DialHelloBad, status: syscall.EPROTO},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h, l := dialScene(t, Config{})
				begin := time.Now()
				h.put(probeID)
				p := l.accept(t)
				p.expect(dialCtl)
				reply, closes := strings.CutSuffix(tt.reply, "close")
				p.send(reply)
				if closes {
					p.Close()
				} else {
					p.expectEnd()
				}
				err := h.wantFinalized(1)[0]
				if !errors.Is(err, tt.status) {
					t.Errorf("message ended with %v, want %v", err, tt.status)
				}
				if d := time.Since(begin); d != tt.after {
					t.Errorf("after %v, want %v", d, tt.after)
				}
				h.wantCount(tt.why, 1)
				h.await("PeerDown", func() bool { return len(h.downs) == 1 })
				h.put(probeID)
				if err := h.wantFinalized(2)[1]; !errors.Is(err, syscall.EHOSTUNREACH) {
					t.Errorf("message too soon ended with %v", err)
				}
				h.wantCount(TooSoon, 1)
				time.Sleep(time.Second)
				h.put(probeID) // after the failure, the dial of this message succeeds
				l.answered(t, dialCtl, replyCtl).read(96)
				if err := h.wantFinalized(3)[2]; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestActiveBackOff (SK-18): the time between tries doubles from min_reconnectms to
// max_reconnectms.
func TestActiveBackOff(t *testing.T) {
	spec.Covers(t, "SK-18")
	bubble(t, func(t *testing.T) {
		h := start(t, "10.0.0.2", newMemNet().config(Config{}))
		sent := 0
		for _, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
			h.put(probeID)
			sent++
			h.wantFinalized(sent)
			failures := h.ni.counts[ConnectFailed].Load()
			time.Sleep(want*time.Second - time.Millisecond)
			h.put(probeID)
			sent++
			h.wantFinalized(sent)
			h.wantCount(ConnectFailed, failures)
			time.Sleep(time.Millisecond)
		}
		h.wantCount(ConnectFailed, 8)
		h.wantCount(TooSoon, 8)
		time.Sleep(3 * time.Minute)
		if n := len(h.ni.Snapshot().Peers); n != 0 {
			t.Errorf("%d peers remembered although there is nothing to remember", n)
		}
	})
}

// TestTooSoon (SK-19): a message that is sent before the next try is due ends with an error that
// gives the last cause and the time left.
func TestTooSoon(t *testing.T) {
	spec.Covers(t, "SK-19")
	bubble(t, func(t *testing.T) {
		h := start(t, "10.0.0.2", newMemNet().config(Config{}))
		h.put(probeID)
		h.wantFinalized(1)
		time.Sleep(200 * time.Millisecond)
		h.put(probeID)
		err := h.wantFinalized(2)[1]
		if !errors.Is(err, syscall.EHOSTUNREACH) || !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("%v is not EHOSTUNREACH and ECONNREFUSED", err)
		}
		want := "socklnd: 12345-10.0.0.1@tcp: too_soon: not tried again for 0.8 s after: connect: connection refused"
		if err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	})
}

// TestTooSoonAfterAnswer: the error gives the reason for which the peer's answer was refused.
func TestTooSoonAfterAnswer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, l := dialScene(t, Config{})
		h.put(probeID)
		l.answered(t, dialCtl, replyIn).expectEnd()
		h.wantFinalized(1)
		h.put(probeID)
		err := h.wantFinalized(2)[1]
		if !errors.Is(err, syscall.EHOSTUNREACH) || !errors.Is(err, syscall.EPROTO) || !strings.HasSuffix(err.Error(), "for 1.0 s after: dial_hello_type: BULK_IN") {
			t.Errorf("ended with %v", err)
		}
	})
}

func TestActiveConnectTimeout(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newMemNet()
		n.silent[netip.MustParseAddr("10.0.0.1")] = true // the address does not answer, from the first dial on
		h := start(t, "10.0.0.2", n.config(Config{SockTimeout: 7 * time.Second}))
		begin := time.Now()
		for range 5 {
			h.put(probeID)
		}
		for _, err := range h.wantFinalized(5) {
			if !errors.Is(err, syscall.EHOSTUNREACH) {
				t.Error(err)
			}
		}
		if d := time.Since(begin); d != 7*time.Second {
			t.Errorf("after %v", d)
		}
		h.wantCount(ConnectTimeout, 1)
	})
}

// TestActiveRefused: an answer of type NONE in our version is no failure; the message waits.
func TestActiveRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, l := dialScene(t, Config{})
		h.put(probeID)
		begin := time.Now()
		l.answered(t, dialCtl, replyNone).expectEnd()
		p := l.answered(t, dialCtl, replyCtl)
		if d := time.Since(begin); d != time.Second {
			t.Errorf("dialled again after %v", d)
		}
		p.read(96)
		if err := h.wantFinalized(1)[0]; err != nil {
			t.Error(err)
		}
		h.wantCount(DialRefused, 1)
	})
}

func TestActiveRefusedForGood(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, l := dialScene(t, Config{})
		h.put(probeID)
		for range 3 {
			l.answered(t, dialCtl, replyNone).expectEnd()
		}
		if err := h.wantFinalized(1)[0]; !errors.Is(err, syscall.EHOSTUNREACH) {
			t.Error(err)
		}
		l.expectNoDial(t, 20*time.Second)
	})
}

// TestPassiveWinsRace: while our NI dials, and its NID is the higher one, it refuses connections
// of the peer.
func TestPassiveWinsRace(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, l := dialScene(t, Config{})
		h.put(probeID)
		ours := l.accept(t)
		for range 2 { // both connections of the peer get the same answer
			theirs := l.net.connect(t, "10.0.0.1:1023", "10.0.0.2:988")
			go theirs.send(request, helloCtl)
			theirs.expect(refused)
			theirs.expectEnd()
		}
		h.wantCount(RefusedRace, 2)
		ours.expect(dialCtl)
		ours.send(replyCtl)
		ours.read(96)
		if err := h.wantFinalized(1)[0]; err != nil {
			t.Error(err)
		}
	})
}

// TestActiveAdoptsVersion (SK-7): after an answer of type NONE in version 2 the NI
// dials again at once in version 2, for the other connections too.
func TestActiveAdoptsVersion(t *testing.T) {
	spec.Covers(t, "SK-7")
	bubble(t, func(t *testing.T) {
		h, l := dialScene(t, Config{})
		begin := time.Now()
		h.put(probeID)
		l.answered(t, dialCtl, inVersion2(replyNone)).expectEnd()
		p := l.answered(t, inVersion2(dialCtl), inVersion2(replyCtl))
		p.read(96)
		l.answered(t, inVersion2(dialIn), inVersion2(replyOut))
		l.answered(t, inVersion2(dialOut), inVersion2(replyIn))
		if d := time.Since(begin); d != 0 {
			t.Errorf("took %v", d)
		}
		synctest.Wait()
		if v := h.ni.Snapshot().Peers[0].Version; v != ksock.V2 {
			t.Errorf("version %v", v)
		}
		p.Close() // when the last connection ends, the version is forgotten
		h.await("PeerDown", func() bool { return len(h.downs) == 1 })
		h.put(probeID)
		l.accept(t).expect(dialCtl)
	})
}

func TestActiveVersionPingPong(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, l := dialScene(t, Config{})
		h.put(probeID)
		l.answered(t, dialCtl, inVersion2(replyNone))
		l.answered(t, inVersion2(dialCtl), replyNone)
		l.answered(t, dialCtl, inVersion2(replyNone))
		if err := h.wantFinalized(1)[0]; !errors.Is(err, syscall.EPROTO) {
			t.Error(err)
		}
	})
}

// TestActiveRestartedPeer (SK-8): if the peer answers with another incarnation, existing
// connections end, and all are dialled again.
func TestActiveRestartedPeer(t *testing.T) {
	spec.Covers(t, "SK-8")
	bubble(t, func(t *testing.T) {
		h, l := dialScene(t, Config{})
		reboot := func(s string) string { return strings.Replace(s, "8877665544332211", "9977665544332211", 1) }
		h.put(probeID)
		control := l.answered(t, dialCtl, replyCtl)
		control.read(96)
		l.answered(t, dialIn, reboot(replyOut)).expectEnd()
		control.expectEnd()
		l.answered(t, dialCtl, reboot(replyCtl))
		l.answered(t, dialIn, reboot(replyOut)).expectOpen(time.Second)
		h.wantCount(PeerRestarted, 1)
	})
}

func TestUntyped(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, l := dialScene(t, Config{Untyped: true})
		h.put(probeID)
		anyType := func(s string) string {
			return strings.Replace(inVersion2(s), "01000000 00000000", "00000000 00000000", 1)
		}
		dial := dialRequest + anyType(dialHello+"01000000 00000000")
		l.answered(t, dial, anyType(replyCtl)).read(96)
		l.expectNoDial(t, 20*time.Second)
		if err := h.wantFinalized(1)[0]; err != nil {
			t.Error(err)
		}
	})
}
