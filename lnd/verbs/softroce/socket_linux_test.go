package softroce

import (
	"bytes"
	"net/netip"
	"testing"
	"time"

	"ulnet/lnd/verbs/ibta"
	"ulnet/lnd/verbs/softroce/wire"
)

// socketPair is two sockets, with a framer for bursts from one to the other and a parser of what
// arrives there.
type socketPair struct {
	t      *testing.T
	from   *socket
	to     *socket
	framer framer
	in     *ingress // parser of the packets that arrive at to
	got    []ibta.Packet
}

// socketPiece is the payload of every packet.
var socketPiece = bytes.Repeat([]byte("abc."), 256)

func openSocketPair(t *testing.T, addrs [2]string) *socketPair {
	t.Helper()
	var s [2]*socket
	for i, a := range addrs {
		var err error
		if s[i], err = (udp{}).openSocket(netip.AddrPortFrom(netip.MustParseAddr(a), 0), 1<<20); err != nil {
			if i == 0 && a == "::1" {
				t.Skipf("no IPv6: %v", err)
			}
			t.Fatal(err)
		}
		t.Cleanup(func() { s[i].close() })
	}
	if err := s[1].conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	x := &socketPair{t: t, from: s[0], to: s[1], framer: framer{segmented: s[0].cuts()}, in: newIngress(s[1].local)}
	x.in.deliver = func(from netip.AddrPort, got []ibta.Packet) {
		if x.got = got; from != s[0].local {
			t.Errorf("from %v", from)
		}
	}
	return x
}

// frame makes bursts that have n packets.
func (x *socketPair) frame(n int) {
	r := route{To: x.to.local, Class: 0x68, Path: ibta.NewPath(x.from.local, x.to.local)}
	for i := range n {
		p := ibta.Packet{BTH: ibta.BTH{OpCode: ibta.SendMiddle, PKey: ibta.DefaultPKey, DestQP: 5, PSN: ibta.PSN(i)}}
		x.framer.add(r, &p, [][]byte{socketPiece[:500], socketPiece[500:]})
	}
}

// receive receives a burst and leaves its packets in got.
func (x *socketPair) receive() {
	x.got = nil
	d, err := x.to.receive()
	if err != nil {
		x.t.Fatal(err)
	}
	x.in.receive(d)
}

func (x *socketPair) send(b *burst) {
	list := [1]wire.Burst{{To: b.route.To, Class: b.route.Class, Size: b.size, Segments: b.segments, Bytes: x.framer.Bytes(b)}}
	if _, err := x.from.send(list[:]); err != nil {
		x.t.Fatal(err)
	}
}

// exchange sends 100 packets and receives them.
func (x *socketPair) exchange() {
	for next := ibta.PSN(0); next < 100; {
		if next%62 == 0 { // wait after each burst, so that no buffer overflows
			x.send(&x.framer.bursts[next/62])
		}
		x.receive()
		for i := range x.got {
			if p := &x.got[i]; p.PSN != next || !bytes.Equal(p.Payload, socketPiece) {
				x.t.Fatalf("PSN %d, want %d", p.PSN, next)
			}
			next++
		}
	}
}

// TestSocket sends bursts from one loopback address to another, over IPv4 and
// IPv6: the kernel cuts and joins them, their ICRCs hold, and neither side
// allocates. Damaged ones are dropped.
func TestSocket(t *testing.T) {
	for _, addrs := range [][2]string{{"127.0.0.2", "127.0.0.3"}, {"::1", "::1"}} {
		t.Run(addrs[0], func(t *testing.T) {
			x := openSocketPair(t, addrs)
			if x.from.receiveBuffer < 1<<17 || !x.from.cuts() {
				t.Errorf("receive buffer of %d bytes, segmented %v", x.from.receiveBuffer, x.from.cuts())
			}
			x.frame(100)
			x.exchange()
			if n := testing.AllocsPerRun(10, x.exchange); n != 0 {
				t.Errorf("%v allocations", n)
			}
			x.framer.bytes[x.framer.bursts[1].from+20] ^= 0x10
			x.send(&x.framer.bursts[1])
			for got := 0; got < 37; got += len(x.got) {
				if x.receive(); len(x.got) == 0 {
					t.Fatal("nothing")
				}
			}
			if n := x.in.badICRC.Load(); n != 1 || x.in.malformed.Load() != 0 {
				t.Errorf("%d datagrams with a bad ICRC", n)
			}
		})
	}
}

// TestOneCallPerArrival: a datagram that arrives alone costs one system call to receive, and not
// another one that finds nothing more.
func TestOneCallPerArrival(t *testing.T) {
	const n = 200
	x := openSocketPair(t, [2]string{"127.0.0.2", "127.0.0.3"})
	x.frame(1)
	next, sent := make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(sent)
		for range next {
			x.send(&x.framer.bursts[0])
		}
	}()
	got := 0
	next <- struct{}{}
	err := x.to.serve(func(list []wire.Datagrams) bool {
		if got += len(list); got < n {
			next <- struct{}{}
		}
		return got < n
	})
	close(next)
	<-sent
	if calls := x.to.receiver.calls; err != nil || got != n || calls > n+n/10 {
		t.Errorf("%d calls for %d datagrams, %v", calls, got, err)
	}
}
