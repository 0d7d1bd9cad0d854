package o2iblnd

import (
	"bytes"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/softroce"
	"ulnet/lnet/nid"
)

// TestConfig: a field whose value makes no sense is refused, with an error that names its tunable.
func TestConfig(t *testing.T) {
	if _, err := New(Config{Open: softroce.Open}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		want string
		cfg  Config
	}{
		{"peer_credits_hiw", Config{PeerCreditsHIW: 255}},
		{"concurrent_sends", Config{ConcurrentSends: 511}},
		{"conns_per_peer", Config{ConnsPerPeer: 128}},
		{"ntx", Config{NTX: -1}},
		{"timeout", Config{Timeout: -1}},
		{"retry_count", Config{RetryCount: 8}},
		{"rnr_retry_count", Config{RNRRetryCount: 8}},
		{"ib_mtu", Config{IBMTU: 1500}},
		{"tos", Config{TOS: 256}},
		{"wrq_sge", Config{WrqSGE: -1}},
		{"rx_buffers", Config{RxBuffers: -1}},
		{"max_conns", Config{MaxConns: -1}},
		{"mtu", Config{MTU: 4200}},
		{"rx_buffer_size", Config{ReceiveBuffer: -1}},
	} {
		tt.cfg.Open = softroce.Open
		if _, err := New(tt.cfg); !errors.Is(err, errConfig) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.want, err)
		}
	}
	if _, err := New(Config{}); !errors.Is(err, errConfig) || !strings.Contains(err.Error(), "softroce") {
		t.Errorf("no provider: %v", err)
	}
}

// TestTunables: the defaults are the kernel's, and values out of range are moved into the range
// (o2iblnd-wire §12).
func TestTunables(t *testing.T) {
	c := Config{}.withDefaults()
	if c.Service != 987 || c.NTX != 512 || c.RetryCount != 5 || c.RNRRetryCount != 6 || c.Keepalive != 100*time.Second || c.ConnsPerPeer != 1 {
		t.Errorf("defaults %+v", c)
	}
	for _, tt := range []struct {
		credits, hiw, sends, sges             int
		wantDepth, wantHIW, wantSends, gather int
	}{
		{0, 0, 0, 30, 8, 4, 8, 30},
		{4, 0, 0, 30, 8, 4, 8, 30},
		{300, 0, 0, 1, 255, 127, 255, 1},
		{8, 7, 16, 30, 8, 7, 16, 30},
		{8, 1, 1, 30, 8, 4, 4, 30},
		{8, 9, 99, 30, 8, 7, 16, 30},
		{32, 16, 64, 30, 32, 16, 64, 30},
	} {
		tunables := lnd.Tunables{PeerCredits: tt.credits, Credits: 1024}
		c := Config{PeerCreditsHIW: tt.hiw, ConcurrentSends: tt.sends}.withDefaults().forNI(tunables, verbs.DeviceAttr{SGEs: tt.sges})
		if peerCredits(tunables) != tt.wantDepth || c.PeerCreditsHIW != tt.wantHIW || c.ConcurrentSends != tt.wantSends || c.WrqSGE != tt.gather {
			t.Errorf("%+v: depth %d, %+v", tt, peerCredits(tunables), c)
		}
		var ni NI
		if ni.patience.Init(c.Timeout, false); c.Timeout != 49*time.Second || ni.connectTimeout() != 49*time.Second/4 {
			t.Errorf("timeouts %v, %v", c.Timeout, ni.connectTimeout())
		}
	}
}

// TestTwoNets: NIs of several nets share the address, the device and the listener. One NI can end
// while the other goes on.
func TestTwoNets(t *testing.T) {
	at := loopbackAddrs(2)
	var drivers [2]*Driver
	var nis [2][2]*NI
	var ups [2][2]*sink
	for i := range drivers {
		d, err := New(Config{Open: softroce.Open})
		if err != nil {
			t.Fatal(err)
		}
		drivers[i] = d
		for k := range nis[i] {
			ups[i][k] = new(sink)
			ni, err := d.Startup(lnd.Config{
				Net: nid.MakeNet(nid.O2IB, uint16(k)), Interface: at[i].String(), Incarnation: uint64(10*i + k + 1), Clock: realClock,
			}, ups[i][k])
			if err != nil {
				t.Fatal(err)
			}
			nis[i][k] = ni.(*NI)
		}
	}
	if _, err := drivers[0].Startup(lnd.Config{Net: nid.MakeNet(nid.O2IB, 0), Interface: at[0].String(), Clock: realClock}, new(sink)); err == nil {
		t.Error("a second NI of the same net at the same address")
	}
	send := func(k, n int) {
		t.Helper()
		nis[0][k].Send(newMessage(nis[0][k], nis[1][k].nid, 100*n))
		ups[1][k].await(t, "arrival", func() bool { return ups[1][k].arrived == n })
	}
	send(0, 1)
	send(1, 1)
	shut(nis[1][0])
	ups[0][0].await(t, "end of the connection", func() bool { return len(ups[0][0].downs) > 0 })
	send(1, 2)
	nis[0][0].Send(newMessage(nis[0][0], nis[1][0].nid, 100)) // the NID of an NI that was shut down
	ups[0][0].await(t, "error", func() bool { return len(ups[0][0].errs) == 1 })
	if err := ups[0][0].errs[0]; !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("refused with %v", err)
	}
	if s := nis[1][1].Snapshot(); s.Counters.Of(ForeignNID) == 0 {
		t.Errorf("counted as %v", nis[1][1].counts.nonzero())
	}
	shut(nis[1][1])
	shut(nis[0][0])
	shut(nis[0][1])
	if n := len(drivers[0].acceptors) + len(drivers[1].acceptors); n != 0 {
		t.Errorf("%d devices left", n)
	}
}

// TestStartErrors: the error of a Startup that fails names the cause.
func TestStartErrors(t *testing.T) {
	d, err := New(Config{Open: softroce.Open})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, want string }{
		{"fe80::1", "IPv4"}, {"no-such-interface", "no-such-interface"}, {"192.0.2.1", "192.0.2.1"},
	} {
		if _, err := d.Startup(lnd.Config{Net: nid.MakeNet(nid.O2IB, 0), Interface: tt.name, Clock: realClock}, new(sink)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if len(d.acceptors) > 0 {
		t.Error("something is left of it")
	}
}

// packetTap keeps the packets that it is given.
type packetTap struct {
	lnd.Tap
	sent, received chan lnd.Packet
}

func (p packetTap) Packet(v lnd.Packet) {
	list := p.received
	if v.Sent {
		list = p.sent
	}
	v.Bytes = bytes.Clone(v.Bytes)
	select {
	case list <- v:
	default:
	}
}

// TestTap: a tap that takes packets sees the packets of connection management and of the
// connection.
func TestTap(t *testing.T) {
	at := loopbackAddrs(2)
	tap := packetTap{sent: make(chan lnd.Packet, 100), received: make(chan lnd.Packet, 100)}
	a, b := new(sink), new(sink)
	x := start(t, at[0], softroce.Open, Config{}, a, func(c *lnd.Config) { c.Tap = tap })
	y := start(t, at[1], softroce.Open, Config{}, b)
	x.Send(newMessage(x, y.nid, 100))
	a.await(t, "message", func() bool { return a.finished == 1 })
	if p := <-tap.sent; p.From.Addr() != at[0] || p.To.Addr() != at[1] || p.To.Port() != 4791 {
		t.Errorf("sent from %v to %v", p.From, p.To)
	}
	if p := <-tap.received; p.From.Addr() != at[1] || p.Sent {
		t.Errorf("received from %v", p.From)
	}
	shut(x)
	shut(y)
}

// TestServiceTaken: NIs of two drivers cannot share an address and service, and the NI that cannot
// start leaves nothing behind.
func TestServiceTaken(t *testing.T) {
	at := loopbackAddrs(2)
	a := new(sink)
	x := start(t, at[0], softroce.Open, Config{}, a)
	d, err := New(Config{Open: softroce.Open})
	if err != nil {
		t.Fatal(err)
	}
	cfg := lnd.Config{Net: nid.MakeNet(nid.O2IB, 1), Interface: at[0].String(), Clock: realClock}
	if _, err := d.Startup(cfg, new(sink)); err == nil || !strings.Contains(err.Error(), "service 987") {
		t.Fatalf("started beside another driver: %v", err)
	}
	y := start(t, at[1], softroce.Open, Config{}, new(sink))
	y.Send(newMessage(y, x.nid, 100)) // the NI that was first still listens
	a.await(t, "message", func() bool { return a.arrived == 1 })
	shut(x)
	ni, err := d.Startup(cfg, new(sink))
	if err != nil {
		t.Fatalf("not started after the other has ended: %v", err)
	}
	shut(ni.(*NI))
	shut(y)
}
