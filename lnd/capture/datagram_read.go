package capture

import (
	"encoding/binary"
	"errors"
	"net/netip"

	"github.com/google/gopacket"

	"ulnet/lnd/capture/internal/headers"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/wire"
)

// readDatagramPrefix reads the prefix of a multicast datagram, which precedes its LNet
// header.
func readDatagramPrefix(b []byte) (any, []byte, gopacket.LayerType, error) {
	var d wire.Datagram
	err := ksock.Datagrams.Parse(b, &d)
	if errors.Is(err, ksock.Datagrams.ErrMagic) { // perhaps one of o2iblnd
		err = kib.Datagrams.Parse(b, &d)
	}
	if err != nil && !errors.Is(err, wire.ErrDatagramLength) {
		return nil, nil, gopacket.LayerTypeZero, err
	}
	return nil, b[wire.DatagramPrefixSize:], headerLayer(d.Large), nil
}

// datagram makes a Record of a packet that is a multicast datagram of LNet, whatever its
// port. It returns false for other packets.
func (d *Dissector) datagram(ip *headers.IP, udp *headers.UDP) bool {
	b := udp.Payload
	if !ip.Src.IsValid() || !ip.Dst.IsMulticast() || len(b) < 4 || binary.LittleEndian.Uint32(b) != ksock.Datagrams.Magic {
		return false
	}
	if ip.Cut {
		d.counts.Truncated++
	}
	ends := [2]netip.AddrPort{netip.AddrPortFrom(ip.Src, udp.SrcPort), netip.AddrPortFrom(ip.Dst, udp.DstPort)}
	r := &Record{Kind: Message, Stamp: d.at, Conn: &Conn{Ends: ends, FirstFrame: d.at.Frame}, Datagram: true, Raw: b}
	r.Length = uint64(max(len(b), udp.Length-8))
	r.parseDatagram(&ksock.Datagrams, b, d.opt.KeepPayload)
	d.deliver(r)
	return true
}

// parseDatagram reads a datagram as far as it makes sense and was captured.
func (r *Record) parseDatagram(format *wire.DatagramFormat, b []byte, keep int) {
	var g wire.Datagram
	err := format.Parse(b, &g)
	otherLength := errors.Is(err, wire.ErrDatagramLength)
	switch {
	case otherLength && len(g.Payload) < int(g.Header.PayloadLength) && r.Length > uint64(len(b)):
		err = nil // it is no error that the capture lacks the end of the datagram
	case err == nil, otherLength:
	default:
		r.Kind, r.Datagram, r.Err = Unknown, false, err
		return
	}
	r.Large, r.Header, r.Err = g.Large, g.Header, err
	r.Payload = g.Payload[:min(len(g.Payload), int(g.Header.PayloadLength))]
	r.Missing = g.Header.PayloadLength - uint32(len(r.Payload))
	r.Payload = r.Payload[:min(len(r.Payload), keep)]
	r.Raw = b[:len(b)-len(g.Payload)+len(r.Payload)] // Raw ends with the payload, whatever follows it
}

// appendDatagram encodes a datagram as it was decoded.
func (r *Record) appendDatagram(b []byte) ([]byte, error) {
	format := &ksock.Datagrams
	if r.Conn.RoCE {
		format = &kib.Datagrams
	}
	return format.Append(b, &wire.Datagram{Large: r.Large, Header: r.Header, Payload: r.Payload})
}
