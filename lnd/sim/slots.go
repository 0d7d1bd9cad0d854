package sim

import "math/bits"

// level is one level of the queue, a radix heap: it has a slot for each value of one digit of an
// event's time.
type level struct {
	used  [4]uint64 // one bit for each slot: whether the slot has events
	slots [1 << digitBits]slot
}

// first is the first slot that is not empty; there must be one.
func (lv *level) first() uint8 {
	for i, w := range lv.used {
		if w != 0 {
			return uint8(i<<6 + bits.TrailingZeros64(w))
		}
	}
	panic("sim: empty level")
}

// slot is a list of events in a chain of blocks.
type slot struct {
	head, tail int32 // first and last block; 0 if none
	count      int32
	room       int32 // how many more events fit into the tail
}

// len returns how many events are in one block of the list: all blocks but the tail are full.
func (s *slot) len(block int32) int32 {
	if block == s.tail {
		return blockLen - s.room
	}
	return blockLen
}

const (
	blockLen  = 15
	chunkBits = 8 // 1<<chunkBits blocks are allocated at a time
)

// block is a part of a list, of 4 cache lines.
type block struct {
	events [blockLen]event
	next   int32
	_      [3]int32
}

// blocks allocates the blocks of lists. Released blocks are used again, and their memory is never
// freed.
type blocks struct {
	chunks []*[1 << chunkBits]block
	free   int32
}

func (b *blocks) at(i int32) *block { return &b.chunks[i>>chunkBits][i&(1<<chunkBits-1)] }

// extend gives a list an empty block at its end.
func (b *blocks) extend(s *slot) {
	if b.free == 0 {
		b.grow()
	}
	i := b.free
	b.free = b.at(i).next
	b.at(i).next = 0
	if s.head == 0 {
		s.head = i
	} else {
		b.at(s.tail).next = i
	}
	s.tail, s.room = i, blockLen
}

func (b *blocks) grow() {
	first := int32(len(b.chunks)) << chunkBits
	b.chunks = append(b.chunks, new([1 << chunkBits]block))
	for i := first + 1<<chunkBits - 1; i >= max(first, 1); i-- { // block 0 stands for none
		b.at(i).next, b.free = b.free, i
	}
}

// release frees block i and returns the one behind it.
func (b *blocks) release(i int32) (next int32) {
	next = b.at(i).next
	b.at(i).next, b.free = b.free, i
	return next
}

// cut removes the first block from the list of s, which must have several blocks, and returns near
// with the events of that block appended.
func (b *blocks) cut(s *slot, near []event) []event {
	near = append(near, b.at(s.head).events[:]...)
	s.head = b.release(s.head)
	s.count -= blockLen
	return near
}
