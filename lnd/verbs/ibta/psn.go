package ibta

// PSN is a packet sequence number: 24 bits, which wrap around.
type PSN uint32

const psnMask = 1<<24 - 1

// Add returns the PSN that is n after p; n may be negative.
func (p PSN) Add(n int) PSN { return (p + PSN(n)) & psnMask }

// Sub returns the distance from q to p, from -2^23 to 2^23-1: positive if p is
// later than q.
func (p PSN) Sub(q PSN) int { return int(int32(p-q) << 8 >> 8) }

// QPN is the number of a queue pair, 24 bits.
type QPN uint32

// Numbers with a meaning of their own. Others are 2 to 0xFFFFFE.
const (
	GSI          QPN = 1        // general services: queue pair that CM messages go to
	MulticastQPN QPN = 0xFFFFFF // stands for all queue pairs of a multicast group
)

// RKey names a memory region to peers that may write to it.
type RKey uint32

// QKey is the key of a queue pair for datagrams, which receives only datagrams with this key.
type QKey uint32

// Q_Keys with a fixed meaning.
const (
	GSIQKey QKey = 0x80010000 // Q_Key of queue pair 1
	CMQKey  QKey = 0x01234567 // Q_Key of RDMA-CM for UD and multicast (RDMA_UDP_QKEY)
)

// PKey is the key of a partition.
type PKey uint16

// DefaultPKey is the partition key that all RoCE packets have.
const DefaultPKey PKey = 0xFFFF

// Matches reports whether nodes with these keys may communicate: they must be for the same
// partition, and at least one must be of a full member.
func (p PKey) Matches(q PKey) bool {
	const full = 1 << 15
	return (p^q)&^full == 0 && (p|q)&full != 0
}

// uint24 and appendUint24 convert 24-bit numbers, big-endian.
func uint24(b []byte) uint32 {
	_ = b[2]
	return uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2])
}

func appendUint24(b []byte, v uint32) []byte {
	return append(b, byte(v>>16), byte(v>>8), byte(v))
}
