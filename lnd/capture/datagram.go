package capture

import (
	"net/netip"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"ulnet/lnd"
)

var _ lnd.DatagramTap = (*Writer)(nil)

// Datagram records a multicast datagram as a UDP packet (lnd.DatagramTap). It has
// the addresses and ports of the wire: there is no well-known port for it.
func (w *Writer) Datagram(from, to netip.AddrPort, _ bool, pieces [][]byte) {
	if w.sinks.Load() == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	at := w.now()
	for _, r := range w.recorders {
		shown := pieces
		if r.headersOnly {
			shown = [][]byte{concealDatagram(pieces)}
		}
		r.datagram(datagramHeader{from: from, to: to, ttl: 1}, at, shown...)
	}
}

// datagramHeader has the fields of the headers of a UDP packet.
type datagramHeader struct {
	from, to netip.AddrPort
	tos, ttl uint8
	id       uint16 // identification field of the IPv4 header
}

// datagram writes one packet.
func (r *recorder) datagram(h datagramHeader, at time.Time, pieces ...[]byte) {
	if r.err != nil {
		return
	}
	size := 0
	for _, p := range pieces {
		size += len(p)
	}
	if r.room != nil && !r.room(size) {
		r.dropped++
		return
	}
	if r.err = r.serializeUDP(h, pieces, size); r.err != nil {
		return
	}
	r.write(at)
}

// serializeUDP puts the packet into buf.
func (r *recorder) serializeUDP(h datagramHeader, pieces [][]byte, size int) error {
	if err := r.buf.Clear(); err != nil {
		return err
	}
	b, err := r.buf.AppendBytes(size)
	if err != nil {
		return err
	}
	for _, p := range pieces {
		b = b[copy(b, p):]
	}
	udp := &layers.UDP{SrcPort: layers.UDPPort(h.from.Port()), DstPort: layers.UDPPort(h.to.Port())}
	ip, network := ipLayer(h.from.Addr(), h.to.Addr(), layers.IPProtocolUDP, h.ttl)
	switch ip := ip.(type) {
	case *layers.IPv4:
		ip.TOS, ip.Id = h.tos, h.id
	case *layers.IPv6:
		ip.TrafficClass = h.tos
	}
	_ = udp.SetNetworkLayerForChecksum(network) // network is an IP layer, so this cannot fail
	options := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	if err := udp.SerializeTo(r.buf, options); err != nil {
		return err
	}
	if udp.Checksum == 0 { // a checksum of 0 would mean that there is none (RFC 768)
		b := r.buf.Bytes()
		b[6], b[7] = 0xFF, 0xFF
	}
	return ip.SerializeTo(r.buf, options)
}

// ipLayer makes the IP header between two addresses of whichever version.
func ipLayer(src, dst netip.Addr, above layers.IPProtocol, ttl uint8) (gopacket.SerializableLayer, gopacket.NetworkLayer) {
	if src.Is4() && dst.Is4() {
		v4 := &layers.IPv4{
			Version: 4, TTL: ttl, Protocol: above, Flags: layers.IPv4DontFragment,
			SrcIP: src.AsSlice(), DstIP: dst.AsSlice(),
		}
		return v4, v4
	}
	s, d := src.As16(), dst.As16()
	v6 := &layers.IPv6{Version: 6, HopLimit: ttl, NextHeader: above, SrcIP: s[:], DstIP: d[:]}
	return v6, v6
}
