package socklnd

import (
	"bytes"
	"context"
	"net"
	"net/netip"
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/lndtest"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// castHost is an NI on 127.0.0.1 that has joined group 5.
func castHost(t testing.TB) *host {
	t.Helper()
	h := start(t, "127.0.0.1", Config{Accept: AcceptNone, MulticastPort: freeUDPPort(t)})
	if err := h.ni.Join(5); err != nil {
		t.Fatal(err)
	}
	return h
}

// stranger returns a writer of arbitrary datagrams from 127.0.0.2.
func stranger(t testing.TB) *datagramWriter {
	t.Helper()
	addr := netip.MustParseAddr("127.0.0.2")
	w, err := newDatagramWriter(addr, interfaceOf(addr).Index, 1, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.close)
	return w
}

// castFrom makes a datagram to group 5 of the default range.
func castFrom(src string) *wire.Datagram {
	g := &wire.Datagram{Payload: []byte("hello"), Header: wire.Header{
		SrcNID: nid.MustParse(src), DestNID: nid.MustParse("239.76.0.5@tcp"),
		SrcPID: nid.LustrePID, DestPID: nid.LustrePID, PayloadLength: 5,
	}}
	g.Header.SetPut(wire.PutCmd{AckMD: wire.NoHandle()})
	return g
}

func encode(t testing.TB, g *wire.Datagram) []byte {
	t.Helper()
	b, err := ksock.Datagrams.Append(nil, g)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// hostile lists datagrams that are dropped, each with the reason.
var hostile = []struct {
	name string
	head func(g *wire.Datagram) // edits the datagram before it is encoded
	tail func(b []byte) []byte  // edits the encoded bytes
	to   string                 // destination; empty: group 5
	want Reason
}{
	{name: "good", want: ReasonNone},
	{name: "empty", tail: func([]byte) []byte { return []byte{0} }, want: DatagramCut},
	{name: "cut in the header", tail: func(b []byte) []byte { return b[:60] }, want: DatagramCut},
	{name: "another protocol", tail: func([]byte) []byte { return bytes.Repeat([]byte("x"), 500) }, want: DatagramForeign},
	{name: "version", tail: func(b []byte) []byte { b[4] = 2; return b }, want: DatagramVersion},
	{name: "header size", tail: func(b []byte) []byte { b[6] = 80; return b }, want: DatagramHeader},
	{name: "large header", head: func(g *wire.Datagram) { g.Large = true }, want: DatagramHeader},
	{name: "payload cut", tail: func(b []byte) []byte { return b[:len(b)-1] }, want: DatagramLength},
	{name: "payload too long", tail: func(b []byte) []byte { return append(b, 0) }, want: DatagramLength},
	{name: "huge payload length", head: func(g *wire.Datagram) { g.Header.PayloadLength = 1<<32 - 1 }, want: DatagramLength},
	{name: "GET", head: func(g *wire.Datagram) { g.Header.SetGet(wire.GetCmd{}) }, want: DatagramType},
	{name: "ACK", head: func(g *wire.Datagram) { g.Header.SetAck(wire.AckCmd{}) }, want: DatagramType},
	{name: "no type", head: func(g *wire.Datagram) { g.Header.Type = 1 << 31 }, want: DatagramType},
	{name: "wants an ACK", head: func(g *wire.Datagram) { g.Header.SetPut(wire.PutCmd{}) }, want: DatagramType},
	{name: "in our name", head: func(g *wire.Datagram) { g.Header.SrcNID = nid.MustParse("127.0.0.1@tcp") }, want: DatagramOwn},
	{name: "in another's name", head: func(g *wire.Datagram) { g.Header.SrcNID = nid.MustParse("127.0.0.3@tcp") }, want: DatagramSource},
	{name: "from another net", head: func(g *wire.Datagram) { g.Header.SrcNID = nid.MustParse("127.0.0.2@tcp1") }, want: DatagramSource},
	{name: "from nobody", head: func(g *wire.Datagram) { g.Header.SrcNID = nid.NID{} }, want: DatagramSource},
	{name: "for another net", head: func(g *wire.Datagram) { g.Header.DestNID = nid.MustParse("239.76.0.5@tcp1") }, want: DatagramNet},
	{name: "names another group", head: func(g *wire.Datagram) { g.Header.DestNID = nid.MustParse("239.76.0.6@tcp") }, want: DatagramGroup},
	{name: "names a node", head: func(g *wire.Datagram) { g.Header.DestNID = nid.MustParse("127.0.0.1@tcp") }, want: DatagramGroup},
	{name: "sent to the node", to: "127.0.0.1", want: DatagramGroup},
	{name: "sent to the node, and names it", head: func(g *wire.Datagram) { g.Header.DestNID = nid.MustParse("127.0.0.1@tcp") }, to: "127.0.0.1", want: DatagramGroup},
}

// TestHostileDatagrams: each datagram of hostile is dropped and counted, unless its reason is ReasonNone,
// and the next good datagram is received.
func TestHostileDatagrams(t *testing.T) {
	h, w := castHost(t), stranger(t)
	good := netip.AddrPortFrom(netip.MustParseAddr("239.76.0.5"), h.ni.cfg.MulticastPort)
	want := map[Reason]uint64{}
	for i, tt := range hostile {
		g := castFrom("127.0.0.2@tcp")
		if tt.head != nil {
			tt.head(g)
		}
		b := encode(t, g)
		if tt.tail != nil {
			b = tt.tail(b)
		}
		to := good
		if tt.to != "" {
			to = netip.AddrPortFrom(netip.MustParseAddr(tt.to), good.Port())
		}
		want[tt.want]++
		for _, c := range []struct {
			to netip.AddrPort
			b  []byte
		}{{to, b}, {good, encode(t, castFrom("127.0.0.2@tcp"))}} {
			if _, err := w.send(c.to, [][]byte{c.b}, true); err != nil {
				t.Fatal(err)
			}
		}
		n := i + 1 + int(want[ReasonNone]) // good datagrams so far: one after each row, and the rows that are good themselves
		h.await(tt.name, func() bool { return len(h.arrived) >= n })
		lndtest.Poll(func() bool { return tt.want == ReasonNone || h.ni.counts[tt.want].Load() >= want[tt.want] })
		if got := h.ni.counts[tt.want].Load(); len(h.arrivals()) != n || tt.want != ReasonNone && got != want[tt.want] {
			t.Errorf("%s: %d have arrived, want %d; counter %v is %d, want %d", tt.name, len(h.arrivals()), n, tt.want, got, want[tt.want])
		}
	}
	for _, a := range h.arrivals() {
		if a.from.NID != nid.MustParse("127.0.0.2@tcp") || string(a.payload) != "hello" {
			t.Errorf("from %v: %q", a.from, a.payload)
		}
	}
	if len(h.ups)+len(h.downs) > 0 {
		t.Errorf("told of peers %v, %v", h.ups, h.downs)
	}
}

// TestDatagramsElsewhere: a datagram that comes by another interface, does not fit, or was
// sent to a group that the NI has left is dropped as well.
func TestDatagramsElsewhere(t *testing.T) {
	h := castHost(t)
	c := &h.ni.cast
	good := packet{
		bytes: encode(t, castFrom("127.0.0.2@tcp")), from: netip.MustParseAddrPort("127.0.0.2:5000"),
		to: netip.MustParseAddr("239.76.0.5"), index: int(c.index.Load()),
	}
	var g wire.Datagram
	for _, tt := range []struct {
		name string
		bend func(p *packet)
		want Reason
	}{
		{"good", func(*packet) {}, ReasonNone},
		{"interface", func(p *packet) { p.index++ }, DatagramInterface},
		{"longer than any", func(p *packet) { p.cut = true }, DatagramCut},
		{"nothing known", func(p *packet) { p.to, p.from = netip.Addr{}, netip.AddrPort{} }, DatagramSource},
		{"no destination", func(p *packet) { p.to = netip.Addr{} }, DatagramGroup},
	} {
		p := good
		tt.bend(&p)
		if got := c.inspect(&p, &g); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	if err := h.ni.Leave(5); err != nil {
		t.Fatal(err)
	}
	if got := c.inspect(&good, &g); got != DatagramGroup {
		t.Errorf("after leaving: %v", got)
	}
}

// FuzzDatagrams: every datagram is dropped for a reason, or comes from the node that it
// names and is for the group that it was sent to.
func FuzzDatagrams(f *testing.F) {
	for _, tt := range hostile {
		g := castFrom("127.0.0.2@tcp")
		if tt.head != nil {
			tt.head(g)
		}
		b := encode(f, g)
		if tt.tail != nil {
			b = tt.tail(b)
		}
		f.Add(b, uint32(0x7F000002), uint32(0xEF4C0005), false)
	}
	ni := &NI{clock: machine.RealClock(), nid: nid.MustParse("127.0.0.1@tcp"), addr: netip.MustParseAddr("127.0.0.1")}
	ni.cfg = Config{}.withDefaults()
	ni.cast.init(ni)
	ni.cast.setGroups([]lnd.Group{5, 6})
	f.Fuzz(func(t *testing.T, b []byte, from, to uint32, cut bool) {
		up := newEcho(len(b))
		ni.up = up
		p := packet{
			bytes: b, cut: cut, index: int(ni.cast.index.Load()),
			from: netip.AddrPortFrom(nid.FromNumber(nid.MakeNet(nid.TCP, 0), from).Addr(), 1), to: nid.FromNumber(nid.MakeNet(nid.TCP, 0), to).Addr(),
		}
		var g wire.Datagram
		var d lnd.Delivery
		before := ni.counts.snapshot()
		ni.cast.take(&p, &g, &d)
		after := ni.counts.snapshot()
		dropped := uint64(0)
		for r := range after {
			dropped += after[r] - before[r]
		}
		if taken := uint64(len(up.arrived)); taken+dropped != 1 {
			t.Fatalf("%d taken, %d dropped", taken, dropped)
		}
		if len(up.arrived) == 1 && (d.From.NID.Addr() != p.from.Addr() || d.Header.DestNID.Addr() != p.to || d.Group != 5 && d.Group != 6 || cut) {
			t.Fatalf("taken from %v for %v, group %d", p.from, p.to, d.Group)
		}
	})
}

// TestMulticastClosed: an NI opens no multicast socket before it is needed, and Shutdown closes all of
// them.
func TestMulticastClosed(t *testing.T) {
	h := start(t, "127.0.0.1", Config{Accept: AcceptNone, MulticastPort: freeUDPPort(t)})
	c := &h.ni.cast
	if h.ni.MulticastLimits().MaxPayload == 0 || c.rx != nil || c.tx != nil {
		t.Fatalf("limits %+v, sockets %v, %v", h.ni.MulticastLimits(), c.rx, c.tx)
	}
	if err := h.ni.Join(1); err != nil {
		t.Fatal(err)
	}
	if c.rx == nil || c.tx != nil || h.ni.MulticastLimits().ReceiveBuffer == 0 {
		t.Errorf("after joining: %v, %v", c.rx, c.tx)
	}
	if err := h.ni.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	l, err := net.ListenUDP("udp4", &net.UDPAddr{Port: int(h.ni.cfg.MulticastPort)})
	if err != nil {
		t.Fatalf("the port is still taken: %v", err)
	}
	_ = l.Close()
}
