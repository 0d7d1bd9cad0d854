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
		r.datagram(from, to, pieces, at)
	}
}

// datagram writes one packet.
func (r *recorder) datagram(from, to netip.AddrPort, pieces [][]byte, at time.Time) {
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
	if r.err = r.serializeUDP(from, to, pieces, size); r.err != nil {
		return
	}
	r.write(at)
}

// serializeUDP puts the packet into buf.
func (r *recorder) serializeUDP(from, to netip.AddrPort, pieces [][]byte, size int) error {
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
	udp := &layers.UDP{SrcPort: layers.UDPPort(from.Port()), DstPort: layers.UDPPort(to.Port())}
	ip, network := ipLayer(from.Addr(), to.Addr(), layers.IPProtocolUDP, 1)
	_ = udp.SetNetworkLayerForChecksum(network) // it is an IP layer
	options := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	if err := udp.SerializeTo(r.buf, options); err != nil {
		return err
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
