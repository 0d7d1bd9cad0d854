//go:build ibverbs && cgo && linux

package ibv

/*
#include <stdlib.h>
#include "glue.h"
*/
import "C"

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"unsafe"

	"ulnet/lnd/verbs"
)

// domain is a protection domain (verbs.PD).
type domain struct {
	dev    *device
	pd     *C.struct_ibv_pd
	bounce bounce

	mu      sync.Mutex // guards all fields below
	change  sync.Cond
	regions map[*region]struct{}
	pools   map[*pool]struct{}
	users   int // queue pairs that exist, and objects that are being made
	closed  bool
	freed   bool
}

// NewPD makes a protection domain (verbs.Device).
func (d *device) NewPD() (verbs.PD, error) {
	p := &domain{dev: d, regions: map[*region]struct{}{}, pools: map[*pool]struct{}{}}
	p.bounce.newSlab = p.newSlab
	p.change.L = &p.mu
	err := use(d, d.domains, p, func() error {
		if rc := C.ulnet_alloc_pd(d.context, &p.pd); rc != 0 {
			return makeError("make a protection domain", errno(rc))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// newSlab registers memory into which messages are copied.
func (p *domain) newSlab(sizeBytes int) (slab, error) {
	var memory unsafe.Pointer
	if rc := C.ulnet_alloc(C.size_t(sizeBytes), &memory); rc != 0 {
		return slab{}, makeError("memory for messages", errno(rc))
	}
	var mr *C.struct_ibv_mr
	base := uint64(uintptr(memory))
	if rc := C.ulnet_register(p.pd, C.uintptr_t(base), C.size_t(sizeBytes), C.uint64_t(base), 0, &mr); rc != 0 {
		C.free(memory)
		return slab{}, makeError("register memory for messages", errno(rc))
	}
	return slab{
		bytes: unsafe.Slice((*byte)(memory), sizeBytes), base: base, key: uint32(mr.lkey),
		free: func() { p.deregister(mr, func() { C.free(memory) }) },
	}, nil
}

// deregister ends a registration, and then frees its memory. It returns false if the device does
// not end the registration; then the memory can never be used again.
func (p *domain) deregister(mr *C.struct_ibv_mr, free func()) bool {
	if rc := C.ibv_dereg_mr(mr); rc != 0 {
		p.dev.log.Error("the device keeps memory that it should give back: it stays allocated",
			"bytes", uint64(mr.length), "err", errno(-max(rc, -rc)))
		return false
	}
	free()
	return true
}

// Close ends the domain (verbs.PD). Queue pairs that are being closed keep it until they have
// ended.
func (p *domain) Close() error {
	p.mu.Lock()
	if n, m := len(p.regions), len(p.pools); !p.closed && n+m != 0 {
		p.mu.Unlock()
		return fmt.Errorf("a protection domain closes with %d regions and %d pools: deregister and close them before", n, m)
	}
	p.closed = true
	p.mu.Unlock()
	p.freeIfDone()
	return nil
}

// abandon closes the domain and everything in it, when no queue pair exists, and returns when
// the device has forgotten it.
func (p *domain) abandon() {
	p.mu.Lock()
	p.closed = true
	for p.users != 0 {
		p.change.Wait()
	}
	regions, pools := slices.Collect(maps.Keys(p.regions)), slices.Collect(maps.Keys(p.pools))
	p.mu.Unlock()
	for _, r := range regions {
		r.Deregister()
	}
	for _, pl := range pools {
		_ = pl.Close()
	}
	p.freeIfDone()
	p.mu.Lock()
	defer p.mu.Unlock()
	for !p.freed {
		p.change.Wait()
	}
}

// enter adds a user of the domain, which calls leave afterwards. It returns false if the domain is
// closed.
func (p *domain) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.users++
	}
	return !p.closed
}

func (p *domain) leave() {
	p.mu.Lock()
	p.users--
	p.change.Broadcast()
	p.mu.Unlock()
	p.freeIfDone()
}

// freeIfDone frees the domain when it has no objects any more. Pools exist after their Close
// until their queue pairs are gone.
func (p *domain) freeIfDone() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed || p.freed || p.users+len(p.regions)+len(p.pools) != 0 {
		return
	}
	p.freed = true
	p.change.Broadcast()
	p.bounce.close()
	if rc := C.ibv_dealloc_pd(p.pd); rc != 0 {
		p.dev.log.Error("free a protection domain", "err", errno(-max(rc, -rc)))
	}
	drop(p.dev, p.dev.domains, p)
}
