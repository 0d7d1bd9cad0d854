package softroce

import (
	"errors"
	"fmt"
	"sync"

	"ulnet/lnd/verbs"
)

var errAccess = errors.New("no memory, or rights that do not go together")

// bufferPool has receive buffers for all queue pairs of its consumer (verbs.Pool).
// Buffers are made when they are first needed, and the one that was given back
// last is used first.
type bufferPool struct {
	cfg verbs.PoolConfig

	mu     sync.Mutex // guards all fields below
	made   []poolBuffer
	free   []uint32 // indexes in made of the buffers that are free; the last one is used next
	empty  uint64
	closed bool
}

type poolBuffer struct {
	bytes []byte
	taken bool
}

var (
	_ verbs.Pool = (*bufferPool)(nil)
	_ pool       = (*bufferPool)(nil)
)

// NewPool makes a pool (verbs.PD).
func (*domain) NewPool(cfg verbs.PoolConfig) (verbs.Pool, error) {
	if cfg.Buffers < 1 || cfg.Size < 1 {
		return nil, fmt.Errorf("a pool of %d buffers of %d bytes", cfg.Buffers, cfg.Size)
	}
	if int64(cfg.Size) > longestRegion || int64(cfg.Buffers) > longestRegion {
		return nil, verbs.ErrTooLarge
	}
	return &bufferPool{cfg: cfg}, nil
}

// Take returns a buffer; false if there is none.
func (p *bufferPool) Take() (verbs.Buffer, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return verbs.Buffer{}, false
	}
	var i uint32
	switch last := len(p.free) - 1; {
	case last >= 0:
		i, p.free = p.free[last], p.free[:last]
	case len(p.made) < p.cfg.Buffers:
		i = uint32(len(p.made))
		p.made = append(p.made, poolBuffer{bytes: make([]byte, p.cfg.Size)})
	default:
		p.empty++
		return verbs.Buffer{}, false
	}
	b := &p.made[i]
	b.taken = true
	return verbs.Buffer{Bytes: b.bytes, Token: uint64(i)}, true
}

// Return gives a buffer back (verbs.Pool). It panics for one that is not taken: two
// messages would share it.
func (p *bufferPool) Return(b verbs.Buffer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if b.Token >= uint64(len(p.made)) || !p.made[b.Token].taken {
		panic(fmt.Sprintf("softroce: buffer %d is returned but not taken", b.Token))
	}
	p.made[b.Token].taken = false
	p.free = append(p.free, uint32(b.Token))
}

// Stats returns the pool's counters (verbs.Pool).
func (p *bufferPool) Stats() verbs.PoolStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return verbs.PoolStats{Free: p.cfg.Buffers - len(p.made) + len(p.free), Empty: p.empty}
}

// Close ends the pool (verbs.Pool). Buffers that are taken stay valid.
func (p *bufferPool) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	return nil
}
