package socklnd

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// The records of a kernel at 10.0.0.1 that dials 10.0.0.2.
const (
	request   = "0071ceac 01000000 0200000a00000200"
	hello     = "63697245 03000000 0100000a00000200 0200000a00000200 39300000 00000000 8877665544332211 0000000000000000 "
	helloCtl  = hello + "01000000 00000000"
	helloIn   = hello + "02000000 00000000"
	helloOut  = hello + "03000000 00000000"
	answer    = "63697245 03000000 0200000a00000200 0100000a00000200 39300000 00000000 e803000000000000 0000000000000000 "
	answerCtl = answer + "01000000 00000000"
	answerIn  = answer + "02000000 00000000"
	answerOut = answer + "03000000 00000000"
	refused   = answer + "ffffffff 00000000"

	acceptorRefused = "0071ceac 01000000 0000000000000000"
	versionRefused  = "63697245 03000000 0200000a00000200 0200000a00000200 39300000 00000000 e803000000000000 0000000000000000 ffffffff 00000000"
)

// bubble runs f in virtual time (testing/synctest).
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

// Parts of HELLOs. Between helloV1 and helloV1Body, of version 1, come the connection type and the
// payload length; between helloV4 and helloV4Body, of version 4, comes the source NID.
const (
	helloV1     = "ed0dbcee 01000000 0100000a00000200 00000000 39300000 "
	helloV1Body = "8877665544332211 01000000 00000000000000000000000000000000000000000000000000000000"
	helloV4     = "63697245 04000000 "
	helloV4Body = "00020000 0a000002 000000000000000000000000 39300000 00000000 8877665544332211 0000000000000000 01000000 00000000"
)

// TestPassiveRefusals (SK-1) has the acceptor's answer to each bad opening. After each of them a
// good peer is served.
func TestPassiveRefusals(t *testing.T) {
	spec.Covers(t, "SK-1")
	for _, tt := range []struct {
		name   string
		port   int // source port of the probe; 0 means 1000
		send   string
		answer string
		after  time.Duration // time until the connection ends
		why    Reason
	}{
		{name: "unprivileged port", port: 40082, why: UnprivilegedPort},
		{name: "silence", after: 5 * time.Second, why: AcceptorTimeout},
		{name: "random bytes", send: "deadbeefdeadbeef", why: AcceptorMagic},
		{name: "http", send: fmt.Sprintf("%x", "GET / HTTP/1.1\r\n\r\n"), why: AcceptorMagic},
		{name: "old magic", send: "ed0dbcee01000000", why: AcceptorMagic},
		{name: "generic magic", send: "63697245", answer: acceptorRefused, why: GenericMagic},
		{name: "generic magic swapped", send: "45726963", answer: acceptorRefused, why: GenericMagic},
		{name: "acceptor version 7", send: "0071ceac 07000000", answer: acceptorRefused, why: AcceptorVersion},
		{name: "ten bytes of a request", send: "0071ceac 01000000 0200", after: 5 * time.Second, why: AcceptorTimeout},
		{name: "foreign NID", send: "0071ceac 01000000 0300000a00000200", why: ForeignNID},
		{name: "foreign net", send: "0071ceac 01000000 0200000a03000200", why: ForeignNID},
		{name: "loopback NID", send: "0071ceac 01000000 0000000000000900", why: ForeignNID},
		{name: "large NID", send: "0071ceac 02000000 0c020000 fd880000000000000000000000000002", why: ForeignNID},
		{name: "silence after the request", send: request, after: 5 * time.Second, why: HelloTimeout},
		{name: "half a HELLO", send: request + helloCtl[:35], after: 5 * time.Second, why: HelloTimeout},
		{name: "HELLO magic", send: request + "12345678", why: HelloMagic},
		{name: "HELLO version 9", send: request + "63697245 09000000", answer: versionRefused, why: HelloVersion},
		{name: "40 addresses", send: request + hello + "01000000 28000000", why: HelloAddresses},
		{name: "address zero", send: request + hello + "01000000 01000000 00000000", why: HelloAddresses},
		{name: "NID ANY", send: request + strings.Replace(helloCtl, "0100000a00000200", "ffffffffffffffff", 1), why: HelloSource},
		{name: "NID zero", send: request + strings.Replace(helloCtl, "0100000a00000200", "0000000000000000", 1), why: HelloSource},
		{name: "type 77", send: request + hello + "4d000000 00000000", why: HelloType},
		{name: "version 2.0 of version 1", send: request + "ed0dbcee 02000000", answer: versionRefused, why: HelloVersion},
		{name: "half a HELLO of version 1", send: request + helloV1 + "04000000", after: 5 * time.Second, why: HelloTimeout},
		{name: "HELLO of version 1 that is an ACK", send: request + helloV1 + "00000000 00000000" + helloV1Body, why: HelloType},
		{name: "40 addresses in version 1", send: request + helloV1 + "04000000 a0000000" + helloV1Body, why: HelloAddresses},
		{name: "half an address in version 1", send: request + helloV1 + "04000000 02000000" + helloV1Body, why: HelloAddresses},
		{name: "address zero in version 1", send: request + helloV1 + "04000000 04000000" + helloV1Body + "00000000", why: HelloAddresses},
		{name: "NID ANY in version 4", send: request + helloV4 + strings.Repeat("ff", 20) + helloV4Body, why: HelloSource},
		{name: "NID of 21 bytes in version 4", send: request + helloV4 + "0d020000" + strings.Repeat("00", 16) + helloV4Body, why: HelloSource},
		{name: "type NONE", send: request + hello + "ffffffff 00000000", why: HelloType},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				n := newMemNet()
				h := start(t, "10.0.0.2", n.config(Config{}))
				p := n.connect(t, fmt.Sprintf("10.0.0.7:%d", cmp.Or(tt.port, 1000)), "10.0.0.2:988")
				go p.send(tt.send)
				if tt.answer != "" {
					p.expect(tt.answer)
				}
				if after := p.expectEnd(); after != tt.after {
					t.Errorf("closed after %v, want %v", after, tt.after)
				}
				synctest.Wait()
				h.wantCount(tt.why, 1)
				if n := h.ni.Snapshot().Handshakes; n != 0 {
					t.Errorf("%d handshakes left", n)
				}
				goodPeer(t, n, h)
				h.stop()
			})
		})
	}
}

// goodPeer checks that a kernel at 10.0.0.1 gets its handshake and its message
// through.
func goodPeer(t *testing.T, n *memNet, h *host) {
	t.Helper()
	p := n.connect(t, "10.0.0.1:1023", "10.0.0.2:988")
	go p.send(request, helloCtl)
	p.expect(answerCtl)
	go p.send(pingGet)
	if got := h.wantArrivals(1)[0]; got.from != (nid.ProcessID{NID: nid.MustParse("10.0.0.1@tcp"), PID: nid.LustrePID}) {
		t.Errorf("message from %v", got.from)
	}
}

// pingGet is a ping that 10.0.0.1 sends to 10.0.0.2.
const pingGet = `
c1000000 00000000 0000000000000000 0000000000000000 ; ksock header
0200000a00000200 0100000a00000200 39300000 39300000 02000000 00000000 ; header
0807060504030201 2100000000000000 0000000000000080 00000000 00000000 10010000 00000000 ; GET`

// TestPassiveTimeouts (SK-4) checks that accept_timeout holds for each read.
func TestPassiveTimeouts(t *testing.T) {
	spec.Covers(t, "SK-4")
	bubble(t, func(t *testing.T) {
		n := newMemNet()
		h := start(t, "10.0.0.2", n.config(Config{}))
		p := n.connect(t, "10.0.0.1:1023", "10.0.0.2:988")
		for _, part := range []string{"0071ceac", "01000000", "0200000a00000200", helloCtl[:8], helloCtl[8:17], helloCtl[17:]} {
			time.Sleep(4900 * time.Millisecond)
			p.send(part)
		}
		p.expect(answerCtl)
		h.stop()
	})
}

// TestPassiveTolerates: openings that look wrong are accepted, as kernels accept them.
func TestPassiveTolerates(t *testing.T) {
	for _, tt := range []struct {
		name, request, hello, answer string
		from                         string
	}{
		{name: "plain", hello: helloCtl, answer: answerCtl},
		{name: "bulk in", hello: helloIn, answer: answerOut},
		{name: "bulk out", hello: helloOut, answer: answerIn},
		{
			name:   "version 2",
			hello:  strings.Replace(helloCtl, "03000000", "02000000", 1),
			answer: strings.Replace(answerCtl, "03000000", "02000000", 1),
		},
		{name: "wrong destination NID", hello: strings.Replace(helloCtl, "0200000a00000200", "6300000a00000200", 1), answer: answerCtl},
		{
			name:   "destination PID and incarnation are echoed",
			hello:  strings.Replace(helloCtl, "00000000 8877665544332211 0000000000000000", "39300000 8877665544332211 1234567890abcdef", 1),
			answer: strings.Replace(answerCtl, "00000000 e803000000000000 0000000000000000", "39300000 e803000000000000 1234567890abcdef", 1),
		},
		{
			name:    "byte-swapped",
			request: "acce7100 00000001 000200000a000002",
			hello:   "45726963 00000003 000200000a4d0001 000200000a000002 00003039 00000000 1122334455667788 0000000000000000 00000001 00000000",
			answer:  strings.Replace(answerCtl, "0100000a00000200", "000200000a4d0000", 1),
			from:    "10.77.0.1@tcp",
		},
		{name: "two addresses", hello: hello + "01000000 02000000 0100000a 0100000b", answer: answerCtl},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				n := newMemNet()
				h := start(t, "10.0.0.2", n.config(Config{}))
				want := nid.ProcessID{NID: nid.MustParse(cmp.Or(tt.from, "10.0.0.1@tcp")), PID: nid.LustrePID}
				p := n.connect(t, addrText(want.NID.Addr().String(), 1023), "10.0.0.2:988")
				go p.send(cmp.Or(tt.request, request), tt.hello)
				p.expect(tt.answer)
				p.expectOpen(10 * time.Second)
				h.await("PeerUp", func() bool { return slices.Equal(h.ups, []nid.ProcessID{want}) })
			})
		})
	}
}

// TestPassiveSet checks how the NI answers further connections of a known peer.
func TestPassiveSet(t *testing.T) {
	reboot := strings.Replace(helloCtl, "8877665544332211", "9977665544332211", 1)
	version2 := strings.Replace(helloIn, "03000000", "02000000", 1)
	for _, tt := range []struct {
		name, second, answer string
		firstEnds            bool
		why                  Reason
	}{
		{name: "next type", second: helloIn, answer: answerOut},
		{name: "same type", second: helloCtl, answer: refused, why: RefusedDuplicate},
		{name: "new incarnation", second: reboot, answer: refused, firstEnds: true, why: RefusedRestart},
		{
			name: "other version", second: version2, answer: strings.Replace(refused, "03000000", "02000000", 1),
			firstEnds: true, why: RefusedProtocol,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				n := newMemNet()
				h := start(t, "10.0.0.2", n.config(Config{}))
				first := n.connect(t, "10.0.0.1:1023", "10.0.0.2:988")
				go first.send(request, helloCtl)
				first.expect(answerCtl)
				second := n.connect(t, "10.0.0.1:1022", "10.0.0.2:988")
				go second.send(request, tt.second)
				second.expect(tt.answer)
				if tt.firstEnds {
					first.expectEnd()
				} else {
					first.expectOpen(time.Second)
				}
				if tt.why == ReasonNone {
					second.expectOpen(time.Second)
					return
				}
				second.expectEnd()
				synctest.Wait()
				h.wantCount(tt.why, 1)
				if tt.firstEnds { // the first connection has ended, so the same HELLO is accepted now
					third := n.connect(t, "10.0.0.1:1021", "10.0.0.2:988")
					go third.send(request, tt.second)
					third.read(56)
					third.expectOpen(time.Second)
				}
			})
		})
	}
}

// TestAcceptAll (SK-5): a peer on an unprivileged port is named by its socket, and so
// are its messages.
func TestAcceptAll(t *testing.T) {
	spec.Covers(t, "SK-5")
	bubble(t, func(t *testing.T) {
		n := newMemNet()
		h := start(t, "10.0.0.2", n.config(Config{Accept: AcceptAll}))
		p := n.connect(t, "10.0.0.9:51234", "10.0.0.2:988")
		go p.send(request, helloCtl)
		p.expect(strings.Replace(answerCtl, "0100000a00000200", "0900000a00000200", 1))
		go p.send(pingGet)
		want := nid.ProcessID{NID: nid.MustParse("10.0.0.9@tcp"), PID: 51234 | nid.UserPID}
		got := h.wantArrivals(1)[0]
		if got.from != want || got.header.SrcNID != want.NID || got.header.SrcPID != want.PID {
			t.Errorf("message from %v, header %v-%v; want %v", got.from, got.header.SrcPID, got.header.SrcNID, want)
		}
		h.put(want)
		p.read(24 + 72) // the message leaves on the connection that the peer has opened
		p.Close()
		synctest.Wait()
		h.put(want) // the peer has no connection any more, and nothing listens at its port: it cannot be dialled
		if err := h.wantFinalized(2)[1]; !errors.Is(err, syscall.EHOSTUNREACH) || !strings.Contains(err.Error(), "unprivileged port") {
			t.Errorf("message ended with %v", err)
		}
		h.wantCount(NoRoute, 1)
		h.wantCount(ConnectFailed, 0)
	})
}

func TestAcceptTrustBelievesAnyPort(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newMemNet()
		h := start(t, "10.0.0.2", n.config(Config{AcceptPort: 9988}))
		if h.ni.Snapshot().Accept != AcceptTrust {
			t.Errorf("mode %v on port 9988", h.ni.Snapshot().Accept)
		}
		p := n.connect(t, "10.0.0.1:51234", "10.0.0.2:9988")
		go p.send(request, helloCtl)
		p.expect(answerCtl)
		h.await("PeerUp", func() bool { return slices.Equal(h.ups, []nid.ProcessID{probeID}) })
	})
}

// TestSilentCrowd: silent connections, even from the same address, do not
// delay a good peer, and their number is bounded.
func TestSilentCrowd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newMemNet()
		h := start(t, "10.0.0.2", n.config(Config{}))
		for i := range 300 {
			n.connect(t, fmt.Sprintf("10.0.0.1:%d", 1+i), "10.0.0.2:988")
		}
		begin := time.Now()
		goodPeer(t, n, h)
		if d := time.Since(begin); d != 0 {
			t.Errorf("good peer was delayed by %v", d)
		}
		if got := h.ni.Snapshot().Handshakes; got > 256 {
			t.Errorf("%d handshakes, want at most 256", got)
		}
		h.wantCount(HandshakeLimit, 300+1-256)
		time.Sleep(6 * time.Second)
		h.wantCount(AcceptorTimeout, 255)
		h.wantCount(AcceptorCut, 0)
		if got := h.ni.Snapshot().Handshakes; got != 0 {
			t.Errorf("%d handshakes left", got)
		}
	})
}

func TestCrowdFromManyAddresses(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newMemNet()
		h := start(t, "10.0.0.2", n.config(Config{MaxHandshakes: 100}))
		for i := range 200 {
			n.connect(t, fmt.Sprintf("10.0.%d.1:1000", 1+i), "10.0.0.2:988")
		}
		goodPeer(t, n, h)
		h.wantCount(HandshakeLimit, 101)
	})
}
