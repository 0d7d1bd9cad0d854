package portals

import (
	"sync"
	"sync/atomic"
)

// MDHandle names a memory descriptor for as long as it lives; a handle is
// never used again for another one. The zero value names none.
type MDHandle uint64

// MEHandle identifies a match entry, as MDHandle does an MD.
type MEHandle uint64

// A handle is the object cookie of Lustre's lnet_handle. It has the type in the low two bits,
// then the slot, and then the number of objects that were in the slot before.
const (
	cookieMD   = 1
	cookieME   = 2
	cookieCall = 3 // LNet uses this kind for event queues, whose handles appear in no message

	cookieTypeBits = 2
	cookieSlotBits = 24
	cookieGenShift = cookieTypeBits + cookieSlotBits
	maxSlots       = 1 << cookieSlotBits
	maxGeneration  = 1<<(64-cookieGenShift-portalBits) - 1 // an ME's generation shares its bits with the portal
)

func makeCookie(kind uint64, slot uint32, generation uint64) uint64 {
	return generation<<cookieGenShift | uint64(slot)<<cookieTypeBits | kind
}

func cookieSlot(cookie uint64) uint32 {
	return uint32(cookie>>cookieTypeBits) & (maxSlots - 1)
}

func cookieKind(cookie uint64) uint64 { return cookie & (1<<cookieTypeBits - 1) }

// chunkSize is small for the sake of simulations with very many nodes, most of which have a
// handful of objects.
const chunkSize = 16

// slab holds objects in slots that never move, so that a handle leads to its object without a
// lock. The caller must check, under the object's own lock, that the slot still holds the
// object of the handle.
type slab[T any] struct {
	chunks atomic.Pointer[[]*[chunkSize]T]

	mu   sync.Mutex
	used uint32   // slots handed out at least once; guarded by mu
	free []uint32 // indexes of free slots; guarded by mu
}

// at returns the object in a slot, or nil if the slot never existed.
func (s *slab[T]) at(slot uint32) *T {
	chunks := s.chunks.Load()
	if chunks == nil || int(slot/chunkSize) >= len(*chunks) {
		return nil
	}
	return &(*chunks)[slot/chunkSize][slot%chunkSize]
}

// size returns the number of slots, free ones included.
func (s *slab[T]) size() uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}

// take returns a free slot; ok is false when all 16 Mi are in use.
func (s *slab[T]) take() (slot uint32, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.free); n > 0 {
		slot, s.free = s.free[n-1], s.free[:n-1]
		return slot, true
	}
	if s.used == maxSlots {
		return 0, false
	}
	slot = s.used
	s.used++
	if slot%chunkSize == 0 {
		s.grow()
	}
	return slot, true
}

// grow adds a chunk. Readers of the old list see a prefix of the new one.
func (s *slab[T]) grow() {
	var next []*[chunkSize]T
	if old := s.chunks.Load(); old != nil {
		next = *old
	}
	next = append(next, new([chunkSize]T))
	s.chunks.Store(&next)
}

// put gives a slot back. A slot whose generations are used up is never used again, so that
// handles stay unique.
func (s *slab[T]) put(slot uint32, generation uint64) {
	if generation >= maxGeneration {
		return
	}
	s.mu.Lock()
	s.free = append(s.free, slot)
	s.mu.Unlock()
}
