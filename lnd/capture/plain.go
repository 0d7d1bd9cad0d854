package capture

import (
	"encoding/binary"
	"errors"

	"ulnet/lnd/capture/internal/headers"
)

// The types of Ethernet frames that may have packets of LNet, as numbered by IEEE 802.
const (
	typeIPv4 = 0x0800
	typeIPv6 = 0x86DD
	typeVLAN = 0x8100
	typeQinQ = 0x88A8
)

// linkHeader returns the size of a link-layer header, and the place of the type in it, or -1 if it has
// none. It returns false for ok if it does not know the link type.
func linkHeader(link LinkType) (size, typ int, ok bool) {
	switch link {
	case LinkEthernet:
		return 14, 12, true
	case LinkLinuxSLL:
		return 16, 14, true
	case LinkLinuxSLL2:
		return 20, 0, true
	}
	return 0, -1, link == LinkRaw
}

// afterLink returns the IP packet behind the link-layer header, or nil if another protocol, such as
// a VLAN tag, follows that header, or if linkHeader does not know the link type.
func afterLink(link LinkType, data []byte) []byte {
	size, at, ok := linkHeader(link)
	if !ok || len(data) <= size {
		return nil
	}
	if at >= 0 {
		typ, version := binary.BigEndian.Uint16(data[at:]), data[size]>>4
		if typ != typeIPv4 && typ != typeIPv6 || typ == typeIPv4 != (version == 4) {
			return nil
		}
	}
	return data[size:]
}

// plain has the headers of a plain packet, in memory that is used again.
type plain struct {
	ip  headers.IP
	tcp headers.TCP
	udp headers.UDP
}

// takePlain dissects a plain packet: TCP or UDP over IPv4 and IPv6 without fragments and extension
// headers, directly behind the link-layer header. Nearly all packets are of this kind. It returns false
// for done if the packet is another one, or has headers that cannot be read.
func (d *Dissector) takePlain(link LinkType, data []byte) (ours, done bool) {
	p, err := &d.plain, error(nil)
	if p.ip, err = headers.ParseIP(afterLink(link, data)); err != nil {
		return false, false
	}
	switch p.ip.Protocol {
	case headers.ProtocolTCP:
		if p.tcp, err = headers.ParseTCP(p.ip.Payload); err == nil {
			return d.tcp(&p.ip, &p.tcp), true
		}
	case headers.ProtocolUDP:
		if p.udp, err = headers.ParseUDP(p.ip.Payload); err == nil {
			p.ip.Cut = p.ip.Cut || p.udp.Cut
			ours = d.roce.packet(&p.ip, &p.udp) || d.datagram(&p.ip, &p.udp)
			return ours, ours
		}
	}
	return false, false
}

// unread finds out why takePlain did not dissect a packet. It takes the place of headers.Unusual in
// programs without package encap.
func unread(link LinkType, data []byte) (p headers.Packet) {
	ip, err := headers.ParseIP(afterLink(link, data))
	switch {
	case err == nil && ip.Protocol == headers.ProtocolTCP:
		p.Malformed = true
	case err == nil && ip.Protocol == headers.ProtocolUDP:
		_, err = headers.ParseUDP(ip.Payload)
		p.Malformed = err != nil
	case err == nil:
		p.Fragment = ip.Protocol == headers.ProtocolFragment && ip.Src.Is6()
	case errors.Is(err, headers.ErrFragment):
		p.Fragment = true
	default:
		p.Malformed = !isForeign(link, data)
	}
	return p
}

// isForeign reports whether a link-layer header says that neither IP nor the tag of a VLAN follows.
func isForeign(link LinkType, data []byte) bool {
	size, at, ok := linkHeader(link)
	if !ok || at < 0 || len(data) < size {
		return false
	}
	switch binary.BigEndian.Uint16(data[at:]) {
	case typeIPv4, typeIPv6, typeVLAN, typeQinQ:
		return false
	}
	return true
}
