package o2iblnd

import (
	"bytes"
	"net/netip"
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// castFrom makes a datagram to group 5 of the default range.
func castFrom(src string) *wire.Datagram {
	g := &wire.Datagram{Payload: []byte("hello"), Header: wire.Header{
		SrcNID: nid.MustParse(src), DestNID: nid.MustParse("239.76.0.5@o2ib"),
		SrcPID: nid.LustrePID, DestPID: nid.LustrePID, PayloadLength: 5,
	}}
	g.Header.SetPut(wire.PutCmd{AckMD: wire.NoHandle()})
	return g
}

// hostile lists datagrams that are dropped, each with the reason.
var hostile = []struct {
	name string
	head func(g *wire.Datagram) // edits the datagram before it is encoded
	tail func(b []byte) []byte  // edits the encoded bytes
	from string                 // source IP address of the packet; empty: 10.0.0.2
	to   string                 // destination of the packet; empty: group 5; "node": this node
	want Reason
}{
	{name: "good", want: ReasonNone},
	{name: "empty", tail: func([]byte) []byte { return nil }, want: DatagramCut},
	{name: "cut in the header", tail: func(b []byte) []byte { return b[:60] }, want: DatagramCut},
	{name: "another protocol", tail: func([]byte) []byte { return bytes.Repeat([]byte("x"), 500) }, want: DatagramForeign},
	{name: "socklnd's", tail: func(b []byte) []byte { b[3] = 'C'; return b }, want: DatagramForeign},
	{name: "version", tail: func(b []byte) []byte { b[4] = 2; return b }, want: DatagramVersion},
	{name: "header size", tail: func(b []byte) []byte { b[6] = 96; return b }, want: DatagramHeader},
	{name: "payload cut", tail: func(b []byte) []byte { return b[:len(b)-1] }, want: DatagramLength},
	{name: "payload too long", tail: func(b []byte) []byte { return append(b, 0) }, want: DatagramLength},
	{name: "huge payload length", head: func(g *wire.Datagram) { g.Header.PayloadLength = 1<<32 - 1 }, want: DatagramLength},
	{name: "GET", head: func(g *wire.Datagram) { g.Header.SetGet(wire.GetCmd{}) }, want: DatagramType},
	{name: "ACK", head: func(g *wire.Datagram) { g.Header.SetAck(wire.AckCmd{}) }, want: DatagramType},
	{name: "no type", head: func(g *wire.Datagram) { g.Header.Type = 1 << 31 }, want: DatagramType},
	{name: "wants an ACK", head: func(g *wire.Datagram) { g.Header.SetPut(wire.PutCmd{}) }, want: DatagramType},
	{name: "in our name", head: func(g *wire.Datagram) { g.Header.SrcNID = nid.MustParse("10.0.0.1@o2ib") }, want: DatagramOwn},
	{name: "in another's name", head: func(g *wire.Datagram) { g.Header.SrcNID = nid.MustParse("10.0.0.3@o2ib") }, want: DatagramSource},
	{name: "from elsewhere", from: "10.0.0.3", want: DatagramSource},
	{name: "from nowhere", from: "-", want: DatagramSource},
	{name: "from another net", head: func(g *wire.Datagram) { g.Header.SrcNID = nid.MustParse("10.0.0.2@o2ib1") }, want: DatagramSource},
	{name: "from tcp", head: func(g *wire.Datagram) { g.Header.SrcNID = nid.MustParse("10.0.0.2@tcp") }, want: DatagramSource},
	{name: "from nobody", head: func(g *wire.Datagram) { g.Header.SrcNID = nid.NID{} }, want: DatagramSource},
	{name: "for another net", head: func(g *wire.Datagram) { g.Header.DestNID = nid.MustParse("239.76.0.5@o2ib1") }, want: DatagramNet},
	{name: "names another group", head: func(g *wire.Datagram) { g.Header.DestNID = nid.MustParse("239.76.0.6@o2ib") }, want: DatagramGroup},
	{name: "names a node", head: func(g *wire.Datagram) { g.Header.DestNID = nid.MustParse("10.0.0.1@o2ib") }, want: DatagramGroup},
	{name: "sent to another group", to: "239.76.0.6", want: DatagramGroup},
	{name: "to a group that was not joined", head: func(g *wire.Datagram) { g.Header.DestNID = nid.MustParse("239.76.0.7@o2ib") }, to: "239.76.0.7", want: DatagramGroup},
	{name: "sent to the node", to: "node", want: DatagramGroup},
	{name: "sent to the node, and names it", head: func(g *wire.Datagram) { g.Header.DestNID = nid.MustParse("10.0.0.1@o2ib") }, to: "node", want: DatagramGroup},
}

// encodeHostile returns the bytes of row i of hostile.
func encodeHostile(t testing.TB, i int) []byte {
	t.Helper()
	g := castFrom("10.0.0.2@o2ib")
	if f := hostile[i].head; f != nil {
		f(g)
	}
	b, err := kib.Datagrams.Append(nil, g)
	if err != nil {
		t.Fatal(err)
	}
	if f := hostile[i].tail; f != nil {
		b = f(b)
	}
	return b
}

// counting is an lnet that counts its messages.
type counting struct {
	lnd.Upcalls
	got []lnd.Delivery
}

func (c *counting) Parse(d *lnd.Delivery) (lnd.Answer, error) {
	d.Sink = lnd.Payload{Segments: [][]byte{make([]byte, 5)}, Length: min(5, int(d.Header.PayloadLength))}
	return lnd.Accept, nil
}

func (c *counting) Delivered(d *lnd.Delivery, _ error) { c.got = append(c.got, *d) }

// dropped returns how many datagrams the counters show as dropped.
func dropped(c *Counters) (n uint64) {
	for _, r := range Reasons() {
		n += c.Of(r)
	}
	return n
}

// countingPool counts the buffers that are returned to it.
type countingPool struct {
	returned, closed int
}

func (p *countingPool) Return(verbs.Buffer)    { p.returned++ }
func (p *countingPool) Stats() verbs.PoolStats { return verbs.PoolStats{} }
func (p *countingPool) Close() error           { p.closed++; return nil }

// hostileNI is an NI that has joined groups 5 and 6, without a queue pair.
func hostileNI(t testing.TB, up lnd.Upcalls) *NI {
	d, err := New(Config{Open: func(verbs.OpenConfig) (verbs.Device, error) { return nil, nil }})
	if err != nil {
		t.Fatal(err)
	}
	ni := &NI{cfg: d.cfg, nid: nid.MustParse("10.0.0.1@o2ib"), up: up}
	ni.cast.init(ni, &stubDevice{mtu: 1024}, 1024, frozen{})
	ni.cast.setGroups([]lnd.Group{5, 6})
	return ni
}

// TestHostileDatagrams: each datagram of the list is dropped and counted, and its buffer is given back. The
// next good datagram is received.
func TestHostileDatagrams(t *testing.T) {
	up, pool := new(counting), new(countingPool)
	ni := hostileNI(t, up)
	want := 0
	for i, tt := range hostile {
		in := verbs.Completion{Op: verbs.Receive, SrcAddr: netip.MustParseAddr("10.0.0.2"), Group: netip.MustParseAddr("239.76.0.5")}
		good := in
		in.Buffer.Bytes, good.Buffer.Bytes = encodeHostile(t, i), encodeHostile(t, 0)
		if tt.from != "" {
			in.SrcAddr, _ = netip.ParseAddr(tt.from)
		}
		if tt.to == "node" {
			in.Group = netip.Addr{}
		} else if tt.to != "" {
			in.Group = netip.MustParseAddr(tt.to)
		}
		before := ni.counts.snapshot()
		ni.cast.receive([]verbs.Completion{in, {Status: verbs.Flushed, Buffer: good.Buffer}, good}, pool)
		after := ni.counts.snapshot()
		if want++; tt.want == ReasonNone {
			want++
		} else if after.Of(tt.want) != before.Of(tt.want)+1 {
			t.Errorf("%s: counter %v stays", tt.name, tt.want)
		}
		if n := dropped(&after) - dropped(&before); len(up.got) != want || (n == 1) != (tt.want != ReasonNone) {
			t.Errorf("%s: %d have arrived, want %d; %d dropped", tt.name, len(up.got), want, n)
		}
		if pool.returned != 3*(i+1) {
			t.Errorf("%s: %d buffers returned, want %d", tt.name, pool.returned, 3*(i+1))
		}
	}
	for _, d := range up.got {
		if d.From.NID != nid.MustParse("10.0.0.2@o2ib") || d.Group != 5 || string(d.Sink.Segments[0]) != "hello" {
			t.Errorf("delivered %+v", d)
		}
	}
	ni.cast.setGroups([]lnd.Group{6})
	ni.cast.receive([]verbs.Completion{{SrcAddr: netip.MustParseAddr("10.0.0.2"), Group: netip.MustParseAddr("239.76.0.5"), Buffer: verbs.Buffer{Bytes: encodeHostile(t, 0)}}}, pool)
	if len(up.got) != want {
		t.Error("a group that was left still delivers")
	}
}

// FuzzMulticast: every datagram is dropped for a reason, or comes from the node that it
// names and is for the group that it was sent to.
func FuzzMulticast(f *testing.F) {
	for i := range hostile {
		f.Add(encodeHostile(f, i), uint32(0x0A000002), uint32(0xEF4C0005))
	}
	up := new(counting)
	ni := hostileNI(f, up)
	f.Fuzz(func(t *testing.T, b []byte, from, to uint32) {
		up.got = nil
		in := verbs.Completion{Op: verbs.Receive, Buffer: verbs.Buffer{Bytes: b}}
		net := nid.MakeNet(nid.O2IB, 0)
		in.SrcAddr, in.Group = nid.FromNumber(net, from).Addr(), nid.FromNumber(net, to).Addr()
		before := ni.counts.snapshot()
		ni.cast.receive([]verbs.Completion{in}, new(countingPool))
		after := ni.counts.snapshot()
		if taken := uint64(len(up.got)); taken+dropped(&after)-dropped(&before) != 1 {
			t.Fatalf("%d taken, %d dropped", taken, dropped(&after)-dropped(&before))
		}
		if len(up.got) == 1 {
			d := &up.got[0]
			if d.From.NID.Addr() != in.SrcAddr || d.Header.DestNID.Addr() != in.Group || d.Group != 5 && d.Group != 6 {
				t.Fatalf("taken from %v for %v, group %d", in.SrcAddr, in.Group, d.Group)
			}
		}
	})
}
