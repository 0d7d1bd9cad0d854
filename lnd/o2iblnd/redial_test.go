package o2iblnd

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/softroce"
	"ulnet/lnd/verbs/softroce/emulator"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// TestRedialsBounded: an address gets one request in redialPause. The token bucket bounds the
// requests to all addresses together, and also the size of the table.
func TestRedialsBounded(t *testing.T) {
	var r redials
	addr := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}) }
	now := time.Hour
	for i, want := range []redialOutcome{redialNow, redialTooSoon, redialTooSoon} {
		if got := r.allow(now+time.Duration(i), addr(0)); got != want {
			t.Errorf("packet %d: %v, want %v", i, got, want)
		}
	}
	count := func(first, n int) (dials int) {
		for i := range n {
			if r.allow(now, addr(first+i)) == redialNow {
				dials++
			}
		}
		return dials
	}
	if n := count(1, 1<<16); n != redialBurst-1 {
		t.Errorf("%d requests for a flood, want %d", n, redialBurst-1)
	}
	now += redialPause
	if n := count(0, 1); n != 1 {
		t.Errorf("%d requests to the first address after a pause", n)
	}
	total, most := 0, 0
	const seconds = 600
	for s := range seconds {
		now += time.Second
		total += count(1<<17+s<<10, 1<<10)
		most = max(most, len(r.at))
	}
	if limit := redialBurst + int(seconds*time.Second/redialEvery); total > limit || most > 4*redialBurst {
		t.Errorf("%d requests in %d s, want %d at most; a table of %d", total, seconds, limit, most)
	}
}

// startNets starts NIs of several networks at one address, and returns the function that moves their clock.
func startNets(t *testing.T, nets int) (nis []*NI, advance func(time.Duration)) {
	t.Helper()
	clock := emulator.NewClock()
	network := emulator.New(emulator.Config{Clock: clock})
	d, err := New(Config{Open: softroce.NewOpener(softroce.Options{Network: network})})
	if err != nil {
		t.Fatal(err)
	}
	for i := range nets {
		ni, err := d.Startup(lnd.Config{Net: nid.MakeNet(nid.O2IB, uint16(i)), Interface: "10.0.0.1", Incarnation: 1, Clock: clock}, new(sink))
		if err != nil {
			t.Fatal(err)
		}
		nis = append(nis, ni.(*NI))
		t.Cleanup(func() { shut(nis[i]) })
	}
	nis[0].acceptor.subnets = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/16")}
	return nis, func(d time.Duration) { clock.Run(clock.Now() + d) }
}

// TestRedialsOfNets: the token bucket bounds the requests of all NIs of an address together.
func TestRedialsOfNets(t *testing.T) {
	const nets = 3
	nis, advance := startNets(t, nets)
	a := nis[0].acceptor
	for i := range 200 {
		a.unknown(netip.AddrFrom4([4]byte{10, 0, 1, byte(i)}))
	}
	if sent, limited := redialled(nis); sent != redialBurst || limited == 0 {
		t.Errorf("%d requests, %d refused; want %d requests", sent, limited, redialBurst)
	}
	advance(redialPause)
	a.unknown(netip.AddrFrom4([4]byte{10, 0, 1, 199}))
	if sent, _ := redialled(nis); sent != redialBurst+nets {
		t.Errorf("%d requests after a pause, want one of each NI", sent-redialBurst)
	}
}

// TestRedialsInTurn: packets of more addresses than the token bucket allows do not keep any of the NIs of an address from
// sending requests. A token that the first NI does not need is used by the next one.
func TestRedialsInTurn(t *testing.T) {
	for _, silent := range []bool{false, true} { // whether the first NI sends no request
		nis, advance := startNets(t, 3)
		if silent {
			nis[0].messages.Close()
		}
		const seconds = 3
		for i := range seconds * 1000 {
			nis[0].acceptor.unknown(netip.AddrFrom4([4]byte{10, 0, 1 + byte(i>>8), 1 + byte(i%254)}))
			advance(time.Millisecond)
		}
		for i, ni := range nis {
			switch n := ni.Snapshot().Counters[Redialled]; {
			case silent && i == 0:
			case n < redialBurst*seconds/4:
				t.Errorf("first NI without requests %v: %d requests of NI %d", silent, n, i)
			}
		}
		if sent, _ := redialled(nis); sent > redialBurst*(seconds+1) || sent < redialBurst*(seconds+1)-5 {
			t.Errorf("first NI without requests %v: %d requests, want %d", silent, sent, redialBurst*(seconds+1))
		}
	}
}

// claims is a device that counts the requests for connections whose peer may not exist.
type claims struct {
	verbs.Device
	n int
}

// Connect implements verbs.Device.
func (c *claims) Connect(to netip.AddrPort, cfg verbs.ConnConfig, events func(verbs.Conn, verbs.Event)) (verbs.Conn, error) {
	if cfg.Claimed {
		c.n++
	}
	return c.Device.Connect(to, cfg, events)
}

// TestRedialsAreClaimed: packets to unknown queue pairs make a node request a connection to their source, which may be
// forged. The node marks such requests (Claimed), so that they do not delay the other requests of the device.
func TestRedialsAreClaimed(t *testing.T) {
	nis, _ := startNets(t, 1)
	device := &claims{Device: nis[0].dev}
	nis[0].dev = device
	for i := range 5 {
		nis[0].acceptor.unknown(netip.AddrFrom4([4]byte{10, 0, 1, byte(i)}))
	}
	if sent, _ := redialled(nis); sent != 5 || device.n != 5 {
		t.Errorf("%d requests, of which %d say that their peers may not exist", sent, device.n)
	}
}

// redialled returns how many requests NIs have sent because of packets to unknown queue pairs, and how many requests the
// bounds have prevented.
func redialled(nis []*NI) (sent, limited uint64) {
	for _, ni := range nis {
		c := ni.Snapshot().Counters
		sent, limited = sent+c[Redialled], limited+c[RedialLimited]
	}
	return sent, limited
}

// TestNeighbors: requests go to other nodes of the device's subnets only.
func TestNeighbors(t *testing.T) {
	subnets := []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("10.9.0.0/31")}
	own := netip.MustParseAddr("10.1.0.7")
	for text, want := range map[string]bool{
		"10.1.0.8": true, "10.1.255.254": true, "10.1.0.255": true, "10.9.0.0": true, "10.9.0.1": true,
		"10.1.0.7": false, "10.1.0.0": false, "10.1.255.255": false, "10.2.0.1": false, "239.76.0.1": false, "0.0.0.0": false,
		"255.255.255.255": false, "::1": false, "fe80::1": false,
	} {
		if got := isNeighbor(subnets, own, netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	if all := netip.MustParsePrefix("0.0.0.0/0"); isNeighbor([]netip.Prefix{all}, own, netip.MustParseAddr("255.255.255.255")) {
		t.Error("the broadcast address of all is a node")
	}
}

// TestAskedForStale: packets for an earlier incarnation cause one request to the peer, if no
// connection is there or expected. A refusal is not reported.
func TestAskedForStale(t *testing.T) {
	refuse := func(h *setHarness, a ask, queued bool) peerOut {
		r := kib.Reject{Version: kib.V2, Why: kib.ConnStale, Stamp: 5}
		private := append(r.AppendTo(nil), make([]byte, 124)...)
		return h.step(peerIn{kind: peerRejected, queued: queued, ask: a, reason: cmConsumerDefined, private: private})
	}
	t.Run("refused", func(t *testing.T) {
		h := newSetHarness(t, lowNID, highNID)
		if out := h.step(peerIn{kind: peerStale}); out.connect != 1 || !h.s.ask().redial {
			t.Fatalf("%+v", out)
		}
		a := h.s.ask()
		if out := h.step(peerIn{kind: peerStale}); out.connect != 0 {
			t.Error("asks a second time")
		}
		out := refuse(h, a, false)
		if out.connect != 0 || out.down || out.failPending || out.reason != RejectedStale || !h.s.idle() || h.wake != machine.Never {
			t.Errorf("%+v, wakes at %v", out, h.wake)
		}
		if a := h.s.ask(); a.redial || a.stamp != 5 {
			t.Errorf("then asks for %+v", a)
		}
	})
	t.Run("a message comes meanwhile", func(t *testing.T) {
		for _, why := range []string{"refused", "no answer"} {
			h := newSetHarness(t, lowNID, highNID)
			h.step(peerIn{kind: peerStale})
			a := h.s.ask()
			out := h.step(peerIn{kind: peerSend, queued: true}) // the request that forged packets may have caused does not delay the message
			if out.connect != 1 || h.s.ask().redial {
				t.Errorf("for the message: %+v; asks for %+v", out, h.s.ask())
			}
			if out = h.step(peerIn{kind: peerSend, queued: true}); out.connect != 0 {
				t.Errorf("for the next message: %+v", out)
			}
			again := 0
			if why == "refused" {
				out, again = refuse(h, a, true), 1
			} else {
				out = h.step(peerIn{kind: peerFailed, queued: true, err: newError(Unreachable, lustre(highNID), nil)})
			}
			if out.connect != again || out.failPending || out.down || h.s.ask().redial {
				t.Errorf("%s: %+v; asks for %+v", why, out, h.s.ask())
			}
			for range again {
				h.step(peerIn{kind: peerFailed, queued: true, err: newError(Unreachable, lustre(highNID), nil)})
			}
			out = h.step(peerIn{kind: peerFailed, queued: true, err: newError(Unreachable, lustre(highNID), nil)})
			if !out.failPending || !out.down {
				t.Errorf("%s: the message does not fail with the requests for it: %+v", why, out)
			}
		}
	})
	t.Run("accepted", func(t *testing.T) {
		h := newSetHarness(t, lowNID, highNID)
		h.step(peerIn{kind: peerStale})
		if out := h.step(peerIn{kind: peerConnected, ask: h.s.ask(), private: h.ack(nil)}); !out.up || out.refused != nil {
			t.Fatalf("%+v", out)
		}
		if out := h.step(peerIn{kind: peerStale}); out.connect != 0 {
			t.Error("asks a peer that has a connection")
		}
		if out := h.step(peerIn{kind: peerClosed, err: newError(PeerClosed, lustre(highNID), nil)}); !out.down {
			t.Error("its end is not told")
		}
	})
	t.Run("the peer asks", func(t *testing.T) {
		h := newSetHarness(t, lowNID, highNID)
		h.step(peerIn{kind: peerRequest, stamp: 5, version: kib.V2})
		if out := h.step(peerIn{kind: peerStale}); out.connect != 0 {
			t.Error("asks a peer whose request was accepted")
		}
	})
}

// TestStaleConnectionsEnd: an NI dies without closing its connections, and the NI that starts next
// has no message to send. The connection of the peer ends nevertheless, as soon as the peer sends a
// message on it.
func TestStaleConnectionsEnd(t *testing.T) { synctest.Test(t, staleConnectionsEnd) }

func staleConnectionsEnd(t *testing.T) {
	at := loopbackAddrs(2)
	network := emulator.New(emulator.Config{Clock: machine.RealClock(), Seed: 1})
	open := softroce.NewOpener(softroce.Options{Network: network})
	a, b, c := new(sink), new(sink), new(sink)
	x := start(t, at[0], open, Config{}, a)
	defer shut(x)
	old := start(t, at[1], open, Config{}, b)
	x.Send(newMessage(x, old.nid, 100))
	a.await(t, "first message", func() bool { return a.finished == 1 })
	network.Cut(at[0], at[1], true) // neither end learns that the connection has ended
	shut(old)
	network.Cut(at[0], at[1], false)
	y := start(t, at[1], open, Config{}, c, func(c *lnd.Config) { c.Incarnation = 99 })
	defer shut(y)
	x.Send(newMessage(x, y.nid, 100))
	a.await(t, "end of the stale connection", func() bool { return a.finished == 2 })
	x.Send(newMessage(x, y.nid, 100))
	a.await(t, "message to the new incarnation", func() bool { return a.finished == 3 })
	if s := x.Snapshot(); s.Counters[TransportFailed] != 0 || s.Counters[RefusedRestart] != 1 || s.Counters[PeerRestarted] != 1 {
		t.Errorf("the peer: %+v", s.Counters)
	}
	if s := y.Snapshot(); s.Counters[Redialled] != 1 || len(c.downs) != 0 {
		t.Errorf("the new incarnation: %+v; down %v", s.Counters, c.downs)
	}
}
