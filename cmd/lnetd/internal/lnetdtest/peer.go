package lnetdtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"

	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// peerTimeout bounds all waits of a Peer except those of Ping.
const peerTimeout = 60 * time.Second

// Peer is a client that speaks LNet over TCP to a daemon. It can claim any identity and send
// any bytes, valid or not.
type Peer struct {
	ID          nid.ProcessID  // identity that the peer's HELLOs and messages claim
	Incarnation uint64         // incarnation that the peer's HELLOs claim
	From        netip.Addr     // local address of the peer's connections
	Port        uint16         // local port, one less for each connection; 0: any
	To          netip.AddrPort // address of the daemon
	Target      nid.NID        // NID of the daemon

	t       testing.TB
	control *net.TCPConn // connection on which Ping sends
	pings   uint64
}

// NewPeer returns a peer of the daemon that listens on the address in the parameter to.
func NewPeer(t testing.TB, id nid.ProcessID, from netip.Addr, to netip.AddrPort) *Peer {
	target := nid.FromAddr(nid.MakeNet(nid.TCP, 0), to.Addr())
	return &Peer{ID: id, Incarnation: 1, From: from, To: to, Target: target, t: t}
}

// Dial opens a TCP connection and sends nothing. The connection is closed when the test ends.
func (p *Peer) Dial() *net.TCPConn {
	p.t.Helper()
	d := net.Dialer{Timeout: peerTimeout, LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(p.From, p.Port))}
	if p.Port > 0 {
		p.Port--
	}
	d.SetMultipathTCP(false)
	c, err := d.DialContext(context.Background(), "tcp", p.To.String())
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { c.Close() })
	return c.(*net.TCPConn)
}

// Request returns the acceptor request to the daemon.
func (p *Peer) Request() []byte {
	b, err := wire.AcceptorRequest{Version: wire.AcceptorVersion1, NID: p.Target}.AppendBinary(nil)
	if err != nil {
		p.t.Fatal(err)
	}
	return b
}

// Hello returns the HELLO for a connection of a type.
func (p *Peer) Hello(ctype ksock.ConnType) ksock.Hello {
	return ksock.Hello{
		Version: ksock.V3, SrcNID: p.ID.NID, SrcPID: p.ID.PID, DstNID: p.Target,
		SrcIncarnation: p.Incarnation, ConnType: ctype,
	}
}

// Opening returns the acceptor request, followed by a HELLO.
func (p *Peer) Opening(h ksock.Hello) []byte {
	p.t.Helper()
	b, err := h.AppendBinary(p.Request())
	if err != nil {
		p.t.Fatal(err)
	}
	return b
}

// Connect opens a connection of a type and waits until the daemon has accepted it.
func (p *Peer) Connect(ctype ksock.ConnType) *net.TCPConn {
	p.t.Helper()
	c := p.Dial()
	p.Greet(c, ctype)
	return c
}

// Greet sends the HELLO of a connection and waits until the daemon has accepted it.
func (p *Peer) Greet(c *net.TCPConn, ctype ksock.ConnType) {
	p.t.Helper()
	if _, err := c.Write(p.Opening(p.Hello(ctype))); err != nil {
		p.t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(peerTimeout))
	b := make([]byte, ksock.HelloSize)
	if _, err := io.ReadFull(c, b); err != nil {
		p.t.Fatalf("answer to the HELLO of %v: %v", p.ID, err)
	}
	h, _, err := ksock.ParseHello(b)
	if err != nil || h.ConnType != ctype.Invert() || h.SrcNID != p.Target || h.DstNID != p.ID.NID {
		p.t.Fatalf("HELLO of %v is answered with %v, %v", p.ID, &h, err)
	}
}

// ConnectAll opens the three connections of a node, CONTROL first.
func (p *Peer) ConnectAll() []*net.TCPConn {
	p.t.Helper()
	var all []*net.TCPConn
	for _, ctype := range []ksock.ConnType{ksock.Control, ksock.BulkIn, ksock.BulkOut} {
		all = append(all, p.Connect(ctype))
	}
	p.control = all[0]
	return all
}

// Header returns the LNet header of a message to the daemon, without the fields of a PUT or GET.
func (p *Peer) Header() wire.Header {
	return wire.Header{DestNID: p.Target, DestPID: nid.LustrePID, SrcNID: p.ID.NID, SrcPID: p.ID.PID}
}

// Message returns the bytes of a message: both headers and the payload.
func (p *Peer) Message(k ksock.MsgHeader, h wire.Header, payload []byte) []byte {
	p.t.Helper()
	b, _ := k.AppendBinary(nil) // cannot fail for a valid message
	b, err := h.AppendBinary(b)
	if err != nil {
		p.t.Fatal(err)
	}
	return append(b, payload...)
}

// Ping sends a ping on the CONTROL connection of ConnectAll, and returns how long the answer
// took. It returns an error if no answer, or a wrong one, arrives within the timeout.
func (p *Peer) Ping(timeout time.Duration) (time.Duration, error) {
	p.pings++
	h := p.Header()
	handle := wire.MDHandle{Interface: p.Incarnation, Object: p.pings}
	h.SetGet(wire.GetCmd{
		ReturnMD: handle, MatchBits: wire.PingMatchBits, Portal: wire.PingPortal,
		SinkLength: uint32(wire.PingInfoSize(wire.MinPingEntries)),
	})
	begin := time.Now()
	if _, err := p.control.Write(p.Message(ksock.MsgHeader{Type: ksock.LNet}, h, nil)); err != nil {
		return 0, err
	}
	_ = p.control.SetReadDeadline(begin.Add(timeout))
	b := make([]byte, ksock.MsgHeaderSize+wire.HeaderSize+wire.PingInfoSize(2))
	if _, err := io.ReadFull(p.control, b); err != nil {
		return 0, fmt.Errorf("answer to the ping of %v: %w", p.ID, err)
	}
	took := time.Since(begin)
	reply, payload, _ := wire.ParseHeader(b[ksock.MsgHeaderSize:])
	info, _, err := wire.ParsePingInfo(payload)
	if err != nil || reply.Type != wire.Reply || reply.Reply().DstMD != handle {
		return 0, fmt.Errorf("answer to the ping of %v: %v with %v, %w", p.ID, reply.Type, reply.Reply().DstMD, err)
	}
	if !slices.Contains(info.NIs, wire.NIStatus{NID: p.Target, Status: wire.StatusUp}) {
		return 0, fmt.Errorf("answer to the ping of %v: NIs %v", p.ID, info.NIs)
	}
	return took, nil
}

// AwaitEnd waits until the daemon closes a connection, with FIN or RST, and returns the bytes
// that the daemon has sent before that.
func AwaitEnd(c *net.TCPConn, timeout time.Duration) ([]byte, error) {
	_ = c.SetReadDeadline(time.Now().Add(timeout))
	var got bytes.Buffer
	_, err := got.ReadFrom(c)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return got.Bytes(), err
	}
	return got.Bytes(), nil
}
