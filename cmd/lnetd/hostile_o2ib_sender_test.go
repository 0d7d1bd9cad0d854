//go:build linux

package main_test

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"testing"

	"ulnet/cmd/internal/afpacket"
	"ulnet/lnd/verbs/ibta"
)

// sender sends UDP datagrams to the besieged daemon from a forged source address. It builds the headers
// itself, so that it does not need a socket with that address, which another process may have.
type sender struct {
	raw  *net.IPConn
	from netip.AddrPort
	path ibta.Path
}

var besieged = netip.AddrPortFrom(netip.MustParseAddr(besiegedAddr), ibta.Port)

// from returns the sender for a source address.
func (b *blockade) from(t *testing.T, addr string) *sender {
	t.Helper()
	at := netip.MustParseAddr(addr)
	if s := b.senders[at]; s != nil {
		return s
	}
	s := &sender{from: netip.AddrPortFrom(at, ibta.Port)}
	s.path = ibta.NewPath(s.from, besieged)
	if err := b.host.Do(func() (err error) {
		s.raw, err = net.ListenIP("ip4:udp", &net.IPAddr{IP: at.AsSlice()})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.raw.Close(); delete(b.senders, at) })
	_ = s.raw.SetReadBuffer(1) // a small buffer, because this socket is never read
	b.senders[at] = s
	return s
}

// send sends a datagram unchanged.
func (s *sender) send(t *testing.T, b []byte) {
	t.Helper()
	d := binary.BigEndian.AppendUint16(nil, s.from.Port())
	d = binary.BigEndian.AppendUint16(d, besieged.Port())
	d = binary.BigEndian.AppendUint16(d, uint16(ibta.UDPSize+len(b)))
	d = append(append(d, 0, 0), b...) // two bytes of zeros: no checksum
	if _, err := s.raw.WriteToIP(d, &net.IPAddr{IP: besieged.Addr().AsSlice()}); err != nil {
		t.Fatal(err)
	}
}

// packet returns the bytes of a packet with its ICRC.
func (s *sender) packet(p ibta.Packet) []byte { return s.path.AppendICRC(0, p.AppendTo(nil)) }

// cmBody is the body of a message of the connection manager.
type cmBody interface{ AppendTo(b []byte) []byte }

// mad returns a management packet with the message body.
func (s *sender) mad(kind ibta.Attribute, body cmBody) []byte {
	return s.packet(ibta.Packet{
		BTH:     ibta.BTH{OpCode: ibta.UDSendOnly, PKey: ibta.DefaultPKey, DestQP: ibta.GSI},
		DETH:    ibta.DETH{QKey: ibta.GSIQKey, SrcQP: ibta.GSI},
		Payload: body.AppendTo(ibta.MAD{TransactionID: 7, Attribute: kind}.AppendTo(nil)),
	})
}

// overheard is what every host on the network can learn about the connection that the good
// peer has requested.
type overheard struct {
	req ibta.REQ // connection request of the good peer
	rep ibta.REP // reply of the daemon
}

// listen records the handshake of a connection. The function that it returns waits for the end
// of the handshake.
func (b *blockade) listen(t *testing.T) (heard func() overheard) {
	t.Helper()
	var h *afpacket.Handle
	if err := b.host.Do(func() (err error) { h, err = afpacket.Open("lo"); return err }); err != nil {
		t.Fatal(err)
	}
	return func() (o overheard) {
		t.Helper()
		defer h.Close()
		ctx, cancel := context.WithTimeout(t.Context(), reaction)
		defer cancel()
		for o.req.LocalID == 0 || o.rep.LocalID == 0 {
			p, err := h.Next(ctx)
			if err != nil {
				t.Fatalf("nobody has made a connection: %v", err)
			}
			o.take(p.Data)
		}
		return o
	}
}

// take records the messages of the connection manager in a packet.
func (o *overheard) take(ip []byte) {
	const protocol, udp = 9, 17
	if len(ip) < ibta.IPv4Size+ibta.UDPSize || ip[protocol] != udp || binary.BigEndian.Uint16(ip[ibta.IPv4Size+2:]) != ibta.Port {
		return
	}
	p, err := ibta.ParsePacket(ip[ibta.IPv4Size+ibta.UDPSize:])
	if err != nil || p.DestQP != ibta.GSI {
		return
	}
	m, err := ibta.ParseCM(append([]byte(nil), p.Payload...))
	switch {
	case err != nil:
	case m.MAD.Attribute == ibta.AttrREQ:
		o.req = m.REQ
	case m.MAD.Attribute == ibta.AttrREP:
		o.rep = m.REP
	}
}
