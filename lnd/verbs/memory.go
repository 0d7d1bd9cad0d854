package verbs

// Access has the rights to a region besides the right to send from it, which needs no bit. The numbers
// are those of libibverbs (IBV_ACCESS_*).
type Access uint8

// Rights of access to a region.
const (
	LocalWrite  Access = 1 // the device of this side may write; RemoteWrite requires it
	RemoteWrite Access = 2
)

// Frag is a piece of a region as a peer addresses it. Address has no meaning in this process.
type Frag struct {
	Address uint64 // address as the peer has to give it
	Length  uint32 // length of the fragment in bytes
}

// MR is a registered memory region.
type MR interface {
	// RKey is the key by which peers name the region. It is not used again soon.
	RKey() uint32
	// Frags appends the addresses of the region for peers: one fragment for all pieces, or
	// one for each piece if the device cannot join them.
	Frags(to []Frag) []Frag
	// Deregister ends the access to the memory. It waits until a packet that is just being
	// written to the memory is complete, but for no other packet. Work requests that name the
	// region must be done. A second call does nothing.
	Deregister()
}

// Renewer is an MR that can be used again. A consumer that registers memory for each
// message then allocates none for the registration.
type Renewer interface {
	MR
	// Renew registers other memory, as Register of the protection domain does, under another
	// key. The region must have been deregistered by its only owner before: a Deregister that
	// comes later would end the new registration.
	Renew(pieces [][]byte, access Access) error
}

// WriteCounter is an MR that counts how many of its bytes peers have written. A consumer can
// compare that with what a peer says.
type WriteCounter interface {
	MR
	// Written returns how many bytes peers have written since it was registered.
	Written() uint64
}

// SGE is a piece of memory that a work request gathers.
type SGE struct {
	Bytes []byte // memory of the piece
	// MR is the region that Bytes lies in. nil: Bytes is copied before PostSend returns,
	// which is meant for short pieces.
	MR MR
}

// PoolConfig has the parameters of a pool of receive buffers. Queue pairs share it, so it has
// fewer buffers than their peers have credits together.
type PoolConfig struct {
	Buffers int // number of buffers
	Size    int // size of each buffer in bytes: the longest message
}

// Pool is a pool of receive buffers (in verbs, a shared receive queue). A message that finds it
// empty is dropped without an answer, counted, and retransmitted by its sender.
type Pool interface {
	// Return gives back the buffer of a completion. The order does not matter.
	Return(b Buffer)
	// Stats returns the pool's counters.
	Stats() PoolStats
	// Close ends the pool, whose queue pairs must be closed before.
	Close() error
}

// PoolStats has the counters of a pool.
type PoolStats struct {
	Free  int    // buffers that are free now
	Empty uint64 // packets that were dropped because no buffer was free
}

// Buffer is a received message, or for datagrams a packet. Token is for the use of the pool.
type Buffer struct {
	Bytes []byte // the bytes that were received; they lie in a buffer of the pool
	Token uint64 // number by which the provider knows the buffer
}
