//go:build ibverbs && cgo && linux

package ibv

// A wr_id says what has completed: a work request, by its queue pair and its index in the ring,
// or a receive buffer, by its pool and number. If a completion is in error, no other field says
// that.
type wrID uint64

const receiveBit wrID = 1 << 63

// mostTokens bounds the numbers of queue pairs and pools.
const mostTokens = 1 << 31

func sendID(queuePair, index uint32) wrID { return wrID(queuePair)<<32 | wrID(index) }

func receiveID(pool, buffer uint32) wrID { return receiveBit | wrID(pool)<<32 | wrID(buffer) }

// isReceive reports whether id belongs to a receive buffer.
func (id wrID) isReceive() bool { return id&receiveBit != 0 }

// owner is the number of the queue pair or of the pool.
func (id wrID) owner() uint32 { return uint32(id>>32) & (mostTokens - 1) }

// item is the index in the ring, or the number of the buffer.
func (id wrID) item() uint32 { return uint32(id) }
