//go:build ibverbs && cgo && linux

package ibv

import (
	"fmt"
	"sync"

	"ulnet/lnd/verbs"
)

const (
	// longestCopy bounds what a work request may copy, in bytes.
	longestCopy = 64 << 10
	// mostBounce bounds the memory of a bounce pool in bytes.
	mostBounce = 256 << 20
)

// bounceClasses are the sizes of slots in bytes: for LNet headers and small messages, for a whole
// message of o2iblnd, and for the longest data that may be copied.
var bounceClasses = [...]int{512, 4 << 10, longestCopy}

// slot is registered C memory for one work request.
type slot struct {
	bytes []byte // memory of the slot; nil: no slot
	base  uint64 // address of the memory as the device sees it
	key   uint32
	class int
}

// slab is registered C memory that slots are cut from.
type slab struct {
	bytes []byte
	base  uint64
	key   uint32
	free  func()
}

// bounce is the pool of slots of a protection domain. It grows with the work requests that
// are posted at once, up to a bound, and is freed when the domain closes. Every method is
// safe for concurrent use.
type bounce struct {
	newSlab func(sizeBytes int) (slab, error)

	mu    sync.Mutex // guards all fields below
	free  [len(bounceClasses)][]slot
	slabs []slab
	bytes int // bytes of all slabs together
	taken int
}

// get takes a free slot and sets its length to n. The error is ErrTooLarge if no slot has n
// bytes, ErrFull if all memory is in use, or an error of newSlab.
func (b *bounce) get(n int) (slot, error) {
	class := 0
	for n > bounceClasses[class] {
		if class++; class == len(bounceClasses) {
			return slot{}, fmt.Errorf("%d bytes to copy, %d at most, register longer memory: %w", n, longestCopy, verbs.ErrTooLarge)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.free[class]) == 0 {
		if err := b.grow(class); err != nil {
			return slot{}, err
		}
	}
	last := len(b.free[class]) - 1
	s := b.free[class][last]
	b.free[class] = b.free[class][:last]
	b.taken++
	s.bytes = s.bytes[:n]
	return s, nil
}

// grow cuts another slab into slots; the caller holds mu.
func (b *bounce) grow(class int) error {
	const slabBytes = 4 * longestCopy
	if b.bytes+slabBytes > mostBounce {
		return verbs.ErrFull
	}
	sl, err := b.newSlab(slabBytes)
	if err != nil {
		return err
	}
	b.slabs, b.bytes = append(b.slabs, sl), b.bytes+slabBytes
	size := bounceClasses[class]
	for at := 0; at+size <= len(sl.bytes); at += size {
		s := slot{bytes: sl.bytes[at : at+size : at+size], base: sl.base + uint64(at), key: sl.key, class: class}
		b.free[class] = append(b.free[class], s)
	}
	return nil
}

// put makes the slot s free again.
func (b *bounce) put(s slot) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s.bytes = s.bytes[:cap(s.bytes)]
	b.free[s.class] = append(b.free[s.class], s)
	b.taken--
}

// close gives the memory back. No slot may be taken.
func (b *bounce) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.taken != 0 {
		panic(fmt.Sprintf("ibv: %d slots are taken when their domain closes", b.taken))
	}
	for _, s := range b.slabs {
		s.free()
	}
	b.slabs, b.bytes = nil, 0
	clear(b.free[:])
}
