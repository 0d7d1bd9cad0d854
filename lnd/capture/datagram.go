package capture

import (
	"net/netip"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/capture/internal/headers"
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
		r.datagram(headers.Envelope{From: from, To: to, TTL: 1}, at, shown...)
	}
}

// datagram writes one packet.
func (r *recorder) datagram(e headers.Envelope, at time.Time, pieces ...[]byte) {
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
	r.buf = e.AppendUDP(r.buf[:0], pieces...)
	r.write(at)
}
