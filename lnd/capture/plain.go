package capture

import (
	"encoding/binary"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

// plain decodes the headers of plain packets into memory that is used again: IPv4 and IPv6 without
// fragments and extension headers, directly behind the link-layer header. Nearly all packets are of
// this kind, and gopacket.NewPacket, which decodes all others, takes several times as long.
type plain struct {
	v4  layers.IPv4
	v6  layers.IPv6
	tcp layers.TCP
	udp layers.UDP
	cut bool // the end of the packet was not captured
}

// SetTruncated notes that the end of a packet is missing (gopacket.DecodeFeedback).
func (p *plain) SetTruncated() { p.cut = true }

// network decodes the IP header of a packet, and returns nil for packets that are not plain or
// cannot be decoded. The result is valid until the next call.
func (p *plain) network(link LinkType, data []byte) (gopacket.NetworkLayer, layers.IPProtocol) {
	p.cut = false
	ip := afterLink(link, data)
	switch {
	case len(ip) == 0:
	case ip[0]>>4 == 4:
		const fragment = layers.IPv4MoreFragments
		if p.v4.DecodeFromBytes(ip, p) == nil && p.v4.Flags&fragment == 0 && p.v4.FragOffset == 0 {
			return &p.v4, p.v4.Protocol
		}
	case ip[0]>>4 == 6:
		if p.v6.DecodeFromBytes(ip, p) == nil {
			return &p.v6, p.v6.NextHeader
		}
	}
	return nil, 0
}

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
		typ := layers.EthernetType(binary.BigEndian.Uint16(data[protocol:]))
		if typ != layers.EthernetTypeIPv4 && typ != layers.EthernetTypeIPv6 || typ == layers.EthernetTypeIPv4 != (version == 4) {
			return nil
		}
	}
	return data[size:]
}

// takePlain dissects a plain packet of TCP or RoCE. It returns false for done if the packet is another
// one, or has headers that cannot be read.
func (d *Dissector) takePlain(link LinkType, data []byte) (ours, done bool) {
	p := &d.plain
	network, protocol := p.network(link, data)
	switch {
	case network == nil:
		return false, false
	case protocol == layers.IPProtocolTCP && p.tcp.DecodeFromBytes(network.LayerPayload(), p) == nil:
		return d.tcp(network, &p.tcp, p.cut), true
	case protocol == layers.IPProtocolUDP && p.udp.DecodeFromBytes(network.LayerPayload(), p) == nil:
		ours = d.roce.packet(network, &p.udp)
		return ours, ours
	}
	return false, false
}
