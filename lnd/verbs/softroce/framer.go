package softroce

import (
	"net/netip"

	"ulnet/lnd/verbs/ibta"
	"ulnet/lnd/verbs/softroce/wire"
)

// route is where the packets of a queue pair go.
type route struct {
	To    netip.AddrPort
	Class uint8      // traffic class of the IP header
	Doubt wire.Doubt // why the destination may not exist
	Path  ibta.Path  // ICRC state for the addresses and ports of the socket and of To
}

// Bounds of a burst, which a socket sends with one call (UDP_SEGMENT).
const (
	mostSegments = 64    // most datagrams of a burst: as kernels before 6.9
	mostBytes    = 65487 // most bytes of a burst's datagrams, over IPv6
)

// burst is datagrams to one destination that leave with one call. All have size
// bytes; the last may have less.
type burst struct {
	route    route
	from, to int
	size     int
	segments int
}

// framer makes datagrams of packets, with their ICRC. The ICRC covers the IPv4 identification
// (rocev2 §16). The kernel cuts a burst into datagrams, and numbers their identifications from 0
// on. So an ICRC is valid only for one position in a burst.
type framer struct {
	segmented bool // the socket cuts bursts into datagrams; if it does not, each burst is one datagram
	bytes     []byte
	bursts    []burst
}

// Bytes returns the datagrams of a burst, one behind the other.
func (f *framer) Bytes(b *burst) []byte { return f.bytes[b.from:b.to:b.to] }

// Reset empties f, but keeps its memory for reuse.
func (f *framer) Reset() { f.bytes, f.bursts = f.bytes[:0], f.bursts[:0] }

// sizeOf returns the size of the datagram of a packet, and of its payload.
func sizeOf(p *ibta.Packet, pieces [][]byte) (size, n int) {
	for _, b := range pieces {
		n += len(b)
	}
	return p.OpCode.HeaderSize() + n + int(ibta.Pad(n)) + ibta.ICRCSize, n
}

// add appends a packet whose payload is in pieces, which are copied.
func (f *framer) add(r route, p *ibta.Packet, pieces [][]byte) {
	size, n := sizeOf(p, pieces)
	b := f.burst(r, size)
	from := len(f.bytes)
	f.bytes = p.AppendHeadersOf(f.bytes, n)
	for _, piece := range pieces {
		f.bytes = append(f.bytes, piece...)
	}
	f.bytes = ibta.AppendPadding(f.bytes, n)
	icrc := r.Path.ICRC(uint16(b.segments), f.bytes[from:])
	f.bytes = append(f.bytes, byte(icrc), byte(icrc>>8), byte(icrc>>16), byte(icrc>>24))
	b.segments++
	b.to = len(f.bytes)
}

// full reports whether to send the bursts before a packet is added: there are several, and
// the packet would not join the last one. Sent one by one, each would wake a fast receiver,
// and a wake-up costs more than a burst.
func (f *framer) full(r route, p *ibta.Packet, pieces [][]byte) bool {
	const much = 3*mostBytes - 8192 // about 3 full bursts and, before them, the short burst of a WRITE's first 2 packets
	if len(f.bytes) < much {
		return false
	}
	size, _ := sizeOf(p, pieces)
	return f.joins(r, size) == nil
}

// joins returns the last burst if a datagram of size bytes can join it, else nil.
func (f *framer) joins(r route, size int) *burst {
	i := len(f.bursts) - 1
	if i < 0 || !f.segmented {
		return nil
	}
	b := &f.bursts[i]
	whole := b.to-b.from == b.segments*b.size // whether all datagrams have the full size so far
	if b.route != r || !whole || size > b.size || b.segments >= mostSegments || b.to-b.from+size > mostBytes {
		return nil
	}
	return b
}

// burst returns the burst of a datagram of size bytes.
func (f *framer) burst(r route, size int) *burst {
	if b := f.joins(r, size); b != nil {
		return b
	}
	f.bursts = append(f.bursts, burst{route: r, from: len(f.bytes), to: len(f.bytes), size: size})
	return &f.bursts[len(f.bursts)-1]
}
