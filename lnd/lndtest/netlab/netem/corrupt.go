package netem

import (
	"encoding/binary"
	"math/rand/v2"
)

// The parts of a frame that corrupt must know, because it changes only bytes that a checksum
// covers: the Ethernet header, and behind it the header of IPv6, which has no checksum. IPv4
// has a checksum for its header, so that header may be changed.
const (
	etherSize = 14
	etherIPv4 = 0x0800
	etherIPv6 = 0x86DD
	ipv6Size  = 40
)

// corrupt changes one 16-bit word of the IP packet in frame and reports
// whether there was one.
//
// The word w becomes w' = w XOR mask. An Internet checksum is a sum modulo 0xFFFF. It stays the
// same only if w' - w is a multiple of 0xFFFF, that is, if 0 becomes 0xFFFF or 0xFFFF becomes 0.
// A mask that is neither 0 nor 0xFFFF makes no such change. Words are counted from the start of
// the packet, because the sums over header, TCP and UDP all begin at even offsets in it. A last
// odd byte is not changed.
func corrupt(frame []byte, random *rand.Rand) bool {
	if len(frame) < etherSize {
		return false
	}
	first := etherSize
	switch binary.BigEndian.Uint16(frame[12:]) {
	case etherIPv4:
	case etherIPv6:
		first += ipv6Size
	default:
		return false
	}
	words := (len(frame) - first) / 2
	if words <= 0 {
		return false
	}
	word := frame[first+2*random.IntN(words):]
	mask := uint16(1 + random.IntN(0xFFFE))
	binary.BigEndian.PutUint16(word, binary.BigEndian.Uint16(word)^mask)
	return true
}
