package router

import (
	"math/bits"
	"sync"
)

// sizes is the number of sizes of buffers: the powers of two from a page to maxPayload.
const sizes = 9

// Pool has the memory of buffers. It keeps returned buffers for the next messages, within the
// limit, and Trim frees those that have not been needed. All methods are safe for concurrent
// use.
type Pool struct {
	mu    sync.Mutex
	limit int          // limit of the bytes of all buffers; guarded by mu, like all fields below
	total int          // bytes of all buffers, in use or free
	free  [sizes]shelf // free buffers, by size
}

// shelf has the free buffers of one size.
type shelf struct {
	list   [][]byte
	unused int // fewest free buffers since the last Trim
}

// SetLimit bounds the bytes of all buffers, in use or free. The Ledger, which has the same
// limit, bounds those in use.
func (p *Pool) SetLimit(bytes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.limit = bytes
	p.makeRoom(0)
}

func sizeIndex(memory int) int { return bits.Len(uint(memory)) - bits.Len(uint(Page)) }

// Get returns a buffer for a payload in bytes, or nil if there is no payload. Its contents
// are those of an earlier message.
func (p *Pool) Get(payload int) []byte {
	memory := memoryOf(payload)
	if memory == 0 {
		return nil
	}
	s := &p.free[sizeIndex(memory)]
	p.mu.Lock()
	if last := len(s.list) - 1; last >= 0 {
		b := s.list[last]
		s.list[last] = nil
		s.list = s.list[:last]
		s.unused = min(s.unused, last)
		p.mu.Unlock()
		return b
	}
	s.unused = 0
	p.makeRoom(memory)
	p.total += memory
	p.mu.Unlock()
	return make([]byte, memory)
}

// Put returns a buffer that Get gave out.
func (p *Pool) Put(b []byte) {
	if cap(b) == 0 {
		return
	}
	b = b[:cap(b)]
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.total > p.limit {
		p.total -= len(b)
		return
	}
	s := &p.free[sizeIndex(len(b))]
	s.list = append(s.list, b)
}

// makeRoom frees unused buffers, the largest first, until a new buffer of the given size fits
// within the limit. The caller holds mu.
func (p *Pool) makeRoom(more int) {
	for i := sizes - 1; i >= 0; i-- {
		for len(p.free[i].list) > 0 && p.total+more > p.limit {
			p.drop(i)
		}
	}
}

// drop frees one unused buffer. The caller holds mu.
func (p *Pool) drop(i int) {
	s := &p.free[i]
	last := len(s.list) - 1
	p.total -= len(s.list[last])
	s.list[last] = nil
	s.list = s.list[:last]
	s.unused = min(s.unused, last)
}

// Trim frees the buffers that were unused all the time since the last call. It reports whether
// any unused buffer is left; if so, call Trim again later.
func (p *Pool) Trim() (again bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.free {
		s := &p.free[i]
		for range s.unused {
			p.drop(i)
		}
		s.unused = len(s.list)
		if s.unused == 0 {
			s.list = nil
		}
	}
	return p.total > 0
}

// Bytes is the memory that exists, in use or free.
func (p *Pool) Bytes() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.total
}
