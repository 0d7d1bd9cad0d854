package capture

import (
	"net/netip"

	"ulnet/lnd"
)

var _ lnd.PacketTap = (*Writer)(nil)

// roceTTL is the TTL of captured packets: what senders set (rocev2 §13). What
// is left of it on arrival a driver does not learn, and the ICRC does not cover it.
const roceTTL = 64

// Packet records a packet of RoCEv2 as a UDP packet (lnd.PacketTap). All that the
// ICRC covers is as on the wire: addresses, ports, identification, DF. The UDP
// checksum is right, also where the sender had sent none.
func (w *Writer) Packet(p lnd.Packet) {
	if w.sinks.Load() == 0 {
		return
	}
	h := datagramHeader{from: unmapped(p.From), to: unmapped(p.To), tos: p.TrafficClass, ttl: roceTTL, id: p.ID}
	w.mu.Lock()
	defer w.mu.Unlock()
	at := w.now()
	for _, r := range w.recorders {
		shown := p.Bytes
		if r.headersOnly {
			shown = concealPacket(p)
		}
		r.datagram(h, at, shown)
	}
}

func unmapped(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
}
