//go:build ibverbs && cgo && linux

package ibv

/*
#include <stdlib.h>
#include "glue.h"
*/
import "C"

import (
	"fmt"
	"sync"
	"unsafe"

	"ulnet/lnd/verbs"
)

// pool is a shared receive queue and its buffers (verbs.Pool). Each buffer has room for
// the network header of a datagram before its bytes.
type pool struct {
	domain *domain
	token  uint32
	cfg    verbs.PoolConfig
	srq    *C.struct_ibv_srq
	mr     *C.struct_ibv_mr
	memory unsafe.Pointer
	base   uint64
	stride int

	mu     sync.Mutex // guards all fields below
	taken  []bool
	lost   []uint32 // buffers that the device refused to take
	out    int      // number of buffers that the consumer has
	empty  uint64   // how often a message took the last free buffer
	pairs  int      // number of queue pairs that use the pool
	closed bool
	ended  bool // the device no longer uses the pool
	freed  bool
}

// NewPool makes a pool (verbs.PD).
func (p *domain) NewPool(cfg verbs.PoolConfig) (verbs.Pool, error) {
	if cfg.Buffers < 1 || cfg.Size < 1 {
		return nil, fmt.Errorf("a pool of %d buffers of %d bytes", cfg.Buffers, cfg.Size)
	}
	stride := (cfg.Size + netHeaderSize + 63) &^ 63
	if most := int64(p.dev.limit.max_receives); int64(cfg.Buffers) > most || cfg.Size > longestRegion/2 {
		return nil, fmt.Errorf("a pool of %d buffers of %d bytes, the device takes %d: %w", cfg.Buffers, cfg.Size, most, verbs.ErrTooLarge)
	}
	pl := &pool{domain: p, token: p.dev.newToken(), cfg: cfg, stride: stride, taken: make([]bool, cfg.Buffers)}
	if !p.enter() {
		return nil, verbs.ErrClosed
	}
	defer p.leave()
	p.mu.Lock()
	p.pools[pl] = struct{}{}
	p.mu.Unlock()
	if err := pl.make(); err != nil {
		_ = pl.Close()
		return nil, err
	}
	return pl, nil
}

// make makes what a pool has at the device; Close undoes it, also if make failed halfway.
func (p *pool) make() error {
	size := C.size_t(p.stride) * C.size_t(p.cfg.Buffers)
	if rc := C.ulnet_alloc(size, &p.memory); rc != 0 {
		p.memory = nil
		return makeError("memory for a pool", errno(rc))
	}
	p.base = uint64(uintptr(p.memory))
	rc := C.ulnet_register(p.domain.pd, C.uintptr_t(p.base), size, C.uint64_t(p.base), C.IBV_ACCESS_LOCAL_WRITE, &p.mr)
	if rc != 0 {
		p.mr = nil
		return makeError("register a pool", errno(rc))
	}
	if rc := C.ulnet_create_srq(p.domain.pd, C.uint32_t(p.cfg.Buffers), &p.srq); rc != 0 {
		p.srq = nil
		return makeError("make a shared receive queue", errno(rc))
	}
	d := p.domain.dev
	d.table.Lock()
	d.pools[p.token] = p
	d.table.Unlock()
	for i := range p.cfg.Buffers {
		if rc := p.post(uint32(i)); rc != 0 {
			return makeError("post a receive buffer", errno(rc))
		}
	}
	return nil
}

// post posts buffer i as a receive buffer.
func (p *pool) post(i uint32) C.int {
	at := p.base + uint64(i)*uint64(p.stride)
	return C.ulnet_post_receive(p.srq, C.uint64_t(receiveID(p.token, i)), C.uint64_t(at), C.uint32_t(p.cfg.Size+netHeaderSize),
		C.uint32_t(p.mr.lkey))
}

// bytes returns the first n bytes of a buffer.
func (p *pool) bytes(i uint32, n int) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(p.memory, int(i)*p.stride)), n)
}

// take records that the consumer has been given a buffer.
func (p *pool) take(i uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken[i] = true
	if p.out++; p.out+len(p.lost) == p.cfg.Buffers {
		p.empty++
	}
}

// Return gives a buffer back (verbs.Pool). It panics for one that is not taken: two
// messages would share it.
func (p *pool) Return(b verbs.Buffer) {
	p.mu.Lock()
	if b.Token >= uint64(len(p.taken)) || !p.taken[b.Token] {
		p.mu.Unlock()
		panic(fmt.Sprintf("ibv: buffer %d is returned but not taken", b.Token))
	}
	p.taken[b.Token] = false
	p.out--
	p.giveLocked(uint32(b.Token))
	p.mu.Unlock()
	p.freeIfDone()
}

// give posts a buffer again that was not given to the consumer.
func (p *pool) give(i uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.giveLocked(i)
}

// giveLocked posts a buffer, and those that could not be posted before.
func (p *pool) giveLocked(i uint32) {
	p.lost = append(p.lost, i)
	for len(p.lost) > 0 && !p.ended {
		last := len(p.lost) - 1
		if rc := p.post(p.lost[last]); rc != 0 {
			p.domain.dev.log.Debug("post a receive buffer", "err", errno(rc))
			return // the device refused the buffer: the next call posts it again
		}
		p.lost = p.lost[:last]
	}
}

// Stats returns counters (verbs.Pool). Only the device knows which messages found the pool
// empty: Empty is how often it became empty.
func (p *pool) Stats() verbs.PoolStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return verbs.PoolStats{Free: p.cfg.Buffers - p.out - len(p.lost), Empty: p.empty}
}

// Close ends the pool (verbs.Pool). Buffers that are taken stay valid.
func (p *pool) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.freeIfDone()
	return nil
}

// enter adds a queue pair that uses the pool; leave removes it. enter returns false if the pool is
// closed.
func (p *pool) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.pairs++
	}
	return !p.closed
}

func (p *pool) leave() {
	p.mu.Lock()
	p.pairs--
	p.mu.Unlock()
	p.freeIfDone()
}

// freeIfDone frees what is no longer needed: everything except the memory when no queue pair
// is left, and the memory when no buffer is taken any more.
func (p *pool) freeIfDone() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed && !p.ended && p.pairs == 0 {
		p.ended = true
		p.end()
	}
	if p.ended && !p.freed && p.out == 0 {
		p.freed = true
		C.free(p.memory)
	}
}

// end stops the device's use of the pool.
func (p *pool) end() {
	d := p.domain.dev
	d.table.Lock()
	delete(d.pools, p.token)
	d.table.Unlock()
	if p.srq != nil {
		if rc := C.ibv_destroy_srq(p.srq); rc != 0 {
			d.log.Error("free a shared receive queue", "err", errno(-max(rc, -rc)))
		}
	}
	if p.mr != nil && !p.domain.deregister(p.mr, func() {}) {
		p.freed = true // keeps freeIfDone from freeing the memory: the device may still write to it
	}
	p.domain.mu.Lock()
	delete(p.domain.pools, p)
	p.domain.mu.Unlock()
	p.domain.freeIfDone()
}
