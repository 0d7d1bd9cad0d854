package node_test

import (
	"encoding/hex"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/socklnd"
	"ulnet/lnet"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals"
)

// The bytes of a peer that opens a connection of type CONTROL: a request of the acceptor and a HELLO.
const openControl = "0071ceac010000000200000a00000200" +
	"63697245030000000100000a000002000200000a0000020039300000000000008877665544332211000000000000000001000000" + "00000000"

// The bytes of a PUT to portal 22, match bits 5, before and after the handle for its ACK; the payload is 8 zeros.
const (
	putBefore = "c10000000000000000000000000000000000000000000000" +
		"0200000a00000200" + "0100000a00000200" + "39300000" + "39300000" + "01000000" + "08000000"
	putAfter = "0500000000000000" + "0000000000000000" + "16000000" + "00000000" + "0000000000000000"
)

// recorded is a connection on which the peer sends its HELLO, and then the same PUTs until count
// messages were read. Each read returns as many bytes as there is room for. Written bytes are dropped.
type recorded struct {
	net.Conn
	opening io.Reader
	puts    []byte // some hundred messages
	size    int    // bytes of one message
	at      int    // position in puts
	left    int    // messages to be read
	start   chan int
	closed  chan struct{}
}

func (r *recorded) Read(b []byte) (int, error) {
	if n, _ := r.opening.Read(b); n > 0 {
		return n, nil
	}
	if r.left == 0 {
		select {
		case n := <-r.start:
			r.left = n * r.size
		case <-r.closed:
			return 0, io.EOF
		}
	}
	n := copy(b[:min(len(b), r.left)], r.puts[r.at:])
	r.at, r.left = (r.at+n)%len(r.puts), r.left-n
	return n, nil
}

func (r *recorded) LocalAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort("10.0.0.2:988"))
}

func (r *recorded) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort("10.0.0.1:1023"))
}
func (r *recorded) Write(b []byte) (int, error) { return len(b), nil }
func (r *recorded) Close() error {
	select {
	case <-r.closed:
	default:
		close(r.closed)
	}
	return nil
}

// one is a listener that accepts the connections which the test puts into conns.
type one struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (o *one) Accept() (net.Conn, error) {
	select {
	case c := <-o.conns:
		return c, nil
	case <-o.closed:
		return nil, net.ErrClosed
	}
}

func (o *one) Close() error { close(o.closed); return nil }
func (o *one) Addr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort("10.0.0.2:988"))
}

// BenchmarkReceive is what a PUT of 8 bytes costs its target, from the read buffer to the return of
// the handler: without system calls, and with as many messages in each read as the buffer has room for.
func BenchmarkReceive(b *testing.B) {
	for _, ack := range []bool{false, true} {
		b.Run(map[bool]string{false: "put", true: "put with ACK"}[ack], func(b *testing.B) { benchmarkReceive(b, ack) })
	}
}

func benchmarkReceive(b *testing.B, ack bool) {
	handle := strings.Repeat("ff", 16)
	if ack {
		handle = "0100000000000000" + "0200000000000000"
	}
	opening, err := hex.DecodeString(openControl)
	message, err2 := hex.DecodeString(putBefore + handle + putAfter)
	if err := errors.Join(err, err2); err != nil {
		b.Fatal(err)
	}
	conn := &recorded{
		opening: strings.NewReader(string(opening)), puts: []byte(strings.Repeat(string(message), 1000)), size: len(message),
		start: make(chan int), closed: make(chan struct{}),
	}
	driver, err := socklnd.New(socklnd.Config{Listen: func(netip.AddrPort) (net.Listener, error) {
		o := &one{conns: make(chan net.Conn, 1), closed: make(chan struct{})}
		o.conns <- conn
		return o, nil
	}})
	if err != nil {
		b.Fatal(err)
	}
	n := lnet.New(lnet.Config{Incarnation: 1, Clock: machine.RealClock()})
	table := portals.New(n)
	b.Cleanup(func() { _ = n.Shutdown(b.Context()) })
	if _, err := n.AddNI(driver, lnd.Config{Net: nid.MakeNet(nid.TCP, 0), Interface: "10.0.0.2", Tunables: lnd.Tunables{PeerCredits: 256}}); err != nil {
		b.Fatal(err)
	}
	me, err := table.MEAttach(22, portals.Match{Bits: 5}, portals.Retain, portals.After)
	if err != nil {
		b.Fatal(err)
	}
	total, handled, done := 0, 0, make(chan struct{})
	_, err = table.MDAttach(me, portals.MD{
		Segments: []lnd.Segment{make([]byte, 8)}, Threshold: portals.ThresholdInfinite, Options: portals.OpPut | portals.ManageRemote,
		Handler: func(*portals.Event) {
			if handled++; handled == total {
				close(done)
			}
		},
	}, portals.Retain)
	if err != nil {
		b.Fatal(err)
	}
	total = b.N
	b.ReportAllocs()
	b.ResetTimer()
	began := processorTime(b)
	conn.start <- b.N
	<-done
	b.ReportMetric(float64(processorTime(b)-began)/float64(b.N), "cpu-ns/op")
}

// processorTime returns the CPU time of this process in nanoseconds, which is about the same however
// busy the machine is.
func processorTime(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
