package simlnd

import (
	"encoding/binary"
	"math/bits"

	"ulnet/lnd"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// packetKind says what a packet does.
type packetKind uint8

const (
	packetOpen packetKind = iota // opens a connection
	packetData                   // carries an LNet message
	// says how many bytes the sender of this packet has taken, or accepts a connection
	packetTaken
	packetAsk   // asks for a packetTaken
	packetReset // ends a connection
	packetCast  // carries an LNet message to a group, without a connection
)

// packet is what hosts send each other. It belongs to the network from Send
// on, and to the receiver when it has come.
type packet struct {
	kind   packetKind
	lane   uint8
	single bool // there is no second copy of the packet: it can be reused
	class  uint8
	pid    nid.PID // PID of the sender
	net    nid.Net
	from   Rail          // rail of the sender
	to     Rail          // rail of the receiver
	group  lnd.Group     // group of a packetCast
	src    uint64        // connection number that the sender chose
	dst    uint64        // connection number that the receiver chose; 0: unknown
	sent   [lanes]uint64 // bytes sent by the sender so far, this packet included
	taken  [lanes]uint64 // by lane: bytes from the receiver that the sender has taken so far
	next   *packet       // next packet in the pool
	header wire.Header   // LNet header of a packetData or packetCast
	data   []byte        // payload of the LNet message
	digest uint64        // hash of the fields above, computed when the packet was sent
}

// Sizes on the wire: socklnd's message header comes before LNet's.
const (
	controlSize = 64
	headerSize  = 24 + wire.HeaderSize
)

func (p *packet) size() int {
	if p.kind != packetData && p.kind != packetCast {
		return controlSize
	}
	return headerSize + len(p.data)
}

// hash digests the packet for the digest of a run.
func (p *packet) hash() uint64 {
	h := mix(uint64(p.kind)<<32|uint64(p.lane), p.src)
	if p.from|p.to != 0 {
		h = mix(h, uint64(p.from)<<8|uint64(p.to))
	}
	h = mix(mix(h^p.dst, p.sent[0]^p.sent[1]<<32), p.taken[0]^p.taken[1]<<32)
	if p.kind != packetData && p.kind != packetCast {
		return h
	}
	h = mix(h, uint64(p.header.Type)<<32|uint64(p.header.PayloadLength))
	h = mix(h^uint64(p.header.DestPID), p.header.SrcNID.Value4()^p.header.DestNID.Value4()<<16)
	h = hashBytes(h, p.header.Body[:])
	return hashBytes(h, p.data)
}

func hashBytes(h uint64, b []byte) uint64 {
	for len(b) >= 8 {
		h = mix(h, binary.LittleEndian.Uint64(b))
		b = b[8:]
	}
	for _, c := range b {
		h = mix(h, uint64(c)+1)
	}
	return h
}

func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^0x9e3779b97f4a7c15, b^0xbf58476d1ce4e5b9)
	return hi ^ lo
}

// pool keeps packets for reuse, by size. Used by the goroutine that runs the
// fabric only. What the network loses is left to the garbage collector.
type pool struct {
	free [classes]*packet
}

// The size of a packet's memory is a power of two, from 64 bytes to 1 MiB. Packets of class 0 have
// no memory.
const (
	smallestBits = 6
	classes      = 16
)

func classOf(size int) uint8 {
	if size == 0 {
		return 0
	}
	return uint8(max(bits.Len(uint(size-1)), smallestBits) - smallestBits + 1)
}

// take returns a packet with room for size bytes, whose content is undefined.
func (l *pool) take(size int) *packet {
	class := classOf(size)
	p := l.free[class]
	if p == nil {
		return newPacket(size)
	}
	l.free[class] = p.next
	p.next = nil
	p.data = p.data[:size]
	return p
}

// newPacket allocates a packet. It serves callers that cannot use the pool, such as Shutdown, which
// any goroutine may call.
func newPacket(size int) *packet {
	if size == 0 {
		return new(packet)
	}
	class := classOf(size)
	return &packet{class: class, data: make([]byte, size, 1<<(class+smallestBits-1))}
}

// put takes a packet back that its receiver is done with.
func (l *pool) put(p *packet) {
	if !p.single {
		return
	}
	*p = packet{class: p.class, data: p.data[:0], next: l.free[p.class]}
	l.free[p.class] = p
}

// fill puts the message m into the packet.
func (p *packet) fill(m *lnd.Message) {
	p.kind, p.header = packetData, m.Header
	m.Payload.AppendTo(p.data[:0])
}
