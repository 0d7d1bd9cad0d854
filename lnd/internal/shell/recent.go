package shell

import "sync/atomic"

// Recent remembers peers of an NI, so that most messages find their peer without the lock of the
// NI's table, which all cores share. It is a direct-mapped cache: each hash has one slot. A slot may
// have another peer than the one that is looked for, or a peer that has left the table since.
type Recent[P any] [16]atomic.Pointer[P]

// Slot returns the slot of the peers with a hash.
func (r *Recent[P]) Slot(hash uint32) *atomic.Pointer[P] { return &r[hash%uint32(len(r))] }
