package capture

import (
	"net/netip"

	"ulnet/lnd"
	"ulnet/lnd/capture/internal/headers"
)

var _ lnd.PacketTap = (*Writer)(nil)

// roceTTL is the TTL of captured packets: the one that senders set (rocev2 §13). A driver
// does not learn the TTL with which a packet arrives, and the ICRC does not cover it.
const roceTTL = 64

// Packet records a packet of RoCEv2 as a UDP packet (lnd.PacketTap). Everything that the ICRC
// covers is as on the wire: addresses, ports, identification, DF. The UDP checksum is
// correct, even if the sender sent none.
func (w *Writer) Packet(p lnd.Packet) {
	if w.sinks.Load() == 0 {
		return
	}
	h := headers.Envelope{From: unmapped(p.From), To: unmapped(p.To), TOS: p.TrafficClass, TTL: roceTTL, ID: p.ID}
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
