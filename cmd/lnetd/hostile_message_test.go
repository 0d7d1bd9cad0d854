//go:build linux

package main_test

import (
	"errors"
	"net"
	"os"
	"testing"

	"ulnet/cmd/lnetd/internal/lnetdtest"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/socklnd"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// lnetHeader is the ksock header of an LNet message that asks for no zero-copy ACK.
var lnetHeader = ksock.MsgHeader{Type: ksock.LNet}

// messages are hostile messages, each for the CONTROL connection of a peer that the daemon has accepted. If
// want is set, the daemon must close the connections of the peer for that reason. If drop is set, it must
// drop the message for that reason.
var messages = []struct {
	name   string
	send   func(p *lnetdtest.Peer) []byte
	leaves bool // after the message, the peer closes its half of the connection
	want   socklnd.Reason
	drop   lnet.DropReason
}{
	{name: "PUT of 4 GiB", send: message(wire.Put, 1<<32-1), want: socklnd.BadMessage, drop: lnet.BadPayload},
	{name: "REPLY of 1 MiB and a byte", send: message(wire.Reply, wire.MaxPayload+1), want: socklnd.BadMessage, drop: lnet.BadPayload},
	{name: "message of type 9", send: message(9, 0), want: socklnd.BadMessage, drop: lnet.BadType},
	{name: "message of type 2³²-1", send: message(1<<32-1, 0), want: socklnd.BadMessage, drop: lnet.BadType},
	{name: "HELLO as a message", send: message(wire.Hello, 0), want: socklnd.BadMessage, drop: lnet.BadType},
	{name: "GET with payload", send: message(wire.Get, 8), want: socklnd.BadMessage, drop: lnet.BadPayload},
	{name: "ACK with payload", send: message(wire.Ack, 8), want: socklnd.BadMessage, drop: lnet.BadPayload},
	{name: "message for another node", send: messageTo(neighbour), want: socklnd.BadMessage, drop: lnet.NotDirect},
	{name: "unknown ksock type", send: ksockOnly(ksock.MsgHeader{Type: 0xC7}), want: socklnd.BadMessageType},
	{name: "HTTP", send: func(*lnetdtest.Peer) []byte { return []byte("GET / HTTP/1.1\r\nHost: lnet\r\n\r\n") }, want: socklnd.BadMessageType},
	{name: "ack of a cookie never sent", send: ksockOnly(ksock.NewNoop(42)), want: socklnd.BadAck},
	{name: "acks of 2⁴⁰ cookies", send: ksockOnly(noop(2, 1<<40)), want: socklnd.BadAck},
	{name: "keepalive with an ack", send: ksockOnly(noop(7, ksock.Keepalive)), want: socklnd.BadAck},
	{name: "piggy-backed ack never sent", send: ackedGet, want: socklnd.BadAck},
	{name: "half a message", send: half, want: socklnd.ReceiveTimeout, drop: lnet.NoMatch},
	{name: "half a message, closes", send: half, leaves: true, want: socklnd.CutMessage, drop: lnet.NoMatch},
	{name: "closes", send: func(*lnetdtest.Peer) []byte { return nil }, leaves: true, want: socklnd.PeerClosed},

	// Messages that are valid but useless do not end the connection.
	{name: "PUT that nobody takes", send: message(wire.Put, 8), drop: lnet.NoMatch},
	{name: "message for another net", send: messageTo(otherNet), drop: lnet.RoutingOff},
	{name: "ACK of a PUT never sent", send: message(wire.Ack, 0), drop: lnet.StaleHandle},
}

func hostileMessage(t *testing.T, commands lnetdtest.Commands) {
	for _, test := range effort.Some(3, messages) {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newSiege(t, commands, timeouts(test.want)...)
			p := s.peer(t, hostileID)
			conns := p.ConnectAll()
			if _, err := conns[0].Write(test.send(p)); err != nil {
				t.Fatal(err)
			}
			if test.leaves {
				conns[0].CloseWrite()
			}
			s.pings(t, "during")
			if test.want == socklnd.ReasonNone {
				s.checkKept(t, p, conns)
			} else {
				s.checkClosed(t, conns)
			}
			s.pings(t, "after")
			s.checkCounters(t, test.want, test.drop)
		})
	}
}

// checkClosed checks that all connections of a peer are closed.
func (s *siege) checkClosed(t *testing.T, conns []*net.TCPConn) {
	t.Helper()
	for i, c := range conns {
		got, err := lnetdtest.AwaitEnd(c, reaction)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("connection %d is still open", i)
		}
		if len(got) > 0 {
			t.Errorf("connection %d: answer % x", i, got)
		}
	}
	s.awaitConnections(goodConnections)
}

// checkKept checks that the daemon still answers the peer on the same connections.
func (s *siege) checkKept(t *testing.T, p *lnetdtest.Peer, conns []*net.TCPConn) {
	t.Helper()
	if _, err := p.Ping(pingLimit); err != nil {
		t.Error(err)
	}
	s.awaitConnections(goodConnections + len(conns))
}

// message returns a message of a type, whose header states a payload of length bytes, but only
// eight bytes of payload follow.
func message(typ wire.MsgType, length uint32) func(*lnetdtest.Peer) []byte {
	return func(p *lnetdtest.Peer) []byte {
		h := p.Header()
		h.SetPut(wire.PutCmd{AckMD: wire.NoHandle(), MatchBits: 1, Portal: 20})
		h.Type, h.PayloadLength = typ, length
		return p.Message(lnetHeader, h, make([]byte, min(length, 8)))
	}
}

// messageTo returns a GET for another NID.
func messageTo(target func(*lnetdtest.Peer) nid.NID) func(*lnetdtest.Peer) []byte {
	return func(p *lnetdtest.Peer) []byte {
		h := p.Header()
		h.SetGet(wire.GetCmd{MatchBits: wire.PingMatchBits, SinkLength: 272})
		h.DestNID = target(p)
		return p.Message(lnetHeader, h, nil)
	}
}

func noop(first, last uint64) ksock.MsgHeader {
	return ksock.MsgHeader{Type: ksock.Noop, Cookies: [2]uint64{first, last}}
}

// ksockOnly returns a ksock header without an LNet header.
func ksockOnly(k ksock.MsgHeader) func(*lnetdtest.Peer) []byte {
	return func(*lnetdtest.Peer) []byte {
		b, _ := k.AppendBinary(nil) // cannot fail for a valid message
		return b
	}
}

// ackedGet returns a valid ping that asks for a zero-copy acknowledgement.
func ackedGet(p *lnetdtest.Peer) []byte {
	h := p.Header()
	h.SetGet(wire.GetCmd{MatchBits: wire.PingMatchBits, SinkLength: 272})
	return p.Message(ksock.MsgHeader{Type: ksock.LNet, Cookies: [2]uint64{0, 42}}, h, nil)
}

// half returns a PUT with only half of its payload.
func half(p *lnetdtest.Peer) []byte { return message(wire.Put, 16)(p) }
