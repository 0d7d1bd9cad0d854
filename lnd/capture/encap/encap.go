// Package encap lets package capture read all packets that gopacket knows: other link types than
// Ethernet, raw IP and those of the pseudo-interface "any", tags of VLANs, tunnels, and extension
// headers of IPv6. In a tunnel over UDP, such as VXLAN, it finds TCP connections but no datagrams. A program
// imports it for that effect:
//
//	import _ "ulnet/lnd/capture/encap"
//
// Without it a Dissector counts packets with tags of VLANs or other link types as malformed, and the
// rest as packets of other protocols. It takes 6 MB and, at the start of the program, tens of
// milliseconds, which is why the choice is the program's.
package encap

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"ulnet/lnd/capture"
	"ulnet/lnd/capture/internal/headers"
)

func init() { headers.Unusual = read }

// Link makes a link type a gopacket.Decoder.
type Link capture.LinkType

// Decode implements gopacket.Decoder.
func (l Link) Decode(data []byte, p gopacket.PacketBuilder) error {
	switch {
	case capture.LinkType(l) == capture.LinkLinuxSLL2:
		const protocol, size = 0, 20 // offset of the protocol field, and size of the SLL2 header
		if len(data) < size {
			return fmt.Errorf("SLL2 header of %d bytes", len(data))
		}
		return layers.EthernetType(binary.BigEndian.Uint16(data[protocol:])).Decode(data[size:], p)
	case l > 255:
		return fmt.Errorf("unknown link type %d", l)
	case len(data) == 0:
		return errors.New("empty packet")
	}
	return layers.LinkType(l).Decode(data, p)
}

// read finds the headers of a packet.
func read(number uint16, data []byte) (found headers.Packet) {
	p := parse(number, data)
	tcp, ok := p.Layer(layers.LayerTypeTCP).(*layers.TCP) // first, because a tunnel over UDP may contain it
	if ok && p.ErrorLayer() == nil {
		found.TCP = &headers.TCP{
			SrcPort: uint16(tcp.SrcPort), DstPort: uint16(tcp.DstPort), Seq: tcp.Seq, Ack: tcp.Ack,
			FIN: tcp.FIN, SYN: tcp.SYN, RST: tcp.RST, ACK: tcp.ACK, Window: tcp.Window, Options: tcp.Contents[20:], Payload: tcp.Payload,
		}
		found.IP = around(p, tcp)
	} else if u, layer, end := datagram(number, data); u != nil {
		found.UDP, p = u, end
		found.IP = around(p, layer)
	}
	if found.UDP == nil {
		found.Fragment = p.Layer(gopacket.LayerTypeFragment) != nil
		found.Malformed = p.ErrorLayer() != nil && (p.NetworkLayer() == nil || p.TransportLayer() != nil)
	}
	return found
}

func parse(number uint16, data []byte) gopacket.Packet {
	return gopacket.NewPacket(data, Link(number), gopacket.DecodeOptions{Lazy: true, NoCopy: true})
}

// datagram returns the outermost UDP datagram of a packet, if it has a valid header, and the packet decoded up to
// there. gopacket chooses the protocol of the payload by the ports. The result must not depend on that
// protocol, because LNet multicast may use any port.
func datagram(number uint16, data []byte) (*headers.UDP, gopacket.Layer, gopacket.Packet) {
	p := parse(number, data)
	udp, ok := p.Layer(layers.LayerTypeUDP).(*layers.UDP)
	if !ok || new(layers.UDP).DecodeFromBytes(udp.Contents, gopacket.NilDecodeFeedback) != nil {
		return nil, nil, nil
	}
	return &headers.UDP{
		SrcPort: uint16(udp.SrcPort), DstPort: uint16(udp.DstPort), Length: int(udp.Length), Header: udp.Contents, Payload: udp.Payload,
	}, udp, p
}

// around returns the IP header of a TCP or UDP layer. In a tunnel, that is the innermost IP header before the
// layer.
func around(p gopacket.Packet, inner gopacket.Layer) (h headers.IP) {
	h.Cut = p.Metadata().Truncated // before Layers decodes what follows the inner layer
	for _, l := range p.Layers() {
		switch ip := l.(type) {
		case *layers.IPv4:
			h.Src, _ = netip.AddrFromSlice(ip.SrcIP)
			h.Dst, _ = netip.AddrFromSlice(ip.DstIP)
			h.ID, h.Header = ip.Id, ip.Contents
		case *layers.IPv6:
			h.Src, _ = netip.AddrFromSlice(ip.SrcIP)
			h.Dst, _ = netip.AddrFromSlice(ip.DstIP)
			h.ID, h.Header = 0, ip.Contents
		}
		if l == inner {
			break
		}
	}
	return h
}
