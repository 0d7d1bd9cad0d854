package capture

import (
	"encoding/binary"

	"ulnet/lnd/capture/internal/headers"
)

// afterLink returns the IP packet behind the link-layer header, or nil if another protocol, such as
// a VLAN tag, follows that header, or if this function does not know the link type.
func afterLink(link LinkType, data []byte) []byte {
	size, protocol := 0, -1
	switch link {
	case LinkEthernet:
		size, protocol = 14, 12
	case LinkLinuxSLL:
		size, protocol = 16, 14
	case LinkLinuxSLL2:
		size, protocol = 20, 0
	case LinkRaw:
	default:
		return nil
	}
	if len(data) <= size {
		return nil
	}
	version := data[size] >> 4
	if protocol >= 0 {
		const ipv4, ipv6 = 0x0800, 0x86DD
		typ := binary.BigEndian.Uint16(data[protocol:])
		if typ != ipv4 && typ != ipv6 || typ == ipv4 != (version == 4) {
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
			return ours, ours || headers.Unusual == nil && d.isOther()
		}
	}
	return false, false
}

// isOther counts a packet of another protocol.
func (d *Dissector) isOther() bool {
	d.counts.Other++
	return true
}
