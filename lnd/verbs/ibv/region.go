//go:build ibverbs && cgo && linux

package ibv

/*
#include <stdlib.h>
#include "glue.h"
*/
import "C"

import (
	"crypto/rand"
	"encoding/binary"
	"runtime"
	"sync"
	"unsafe"

	"ulnet/lnd/verbs"
)

// region is registered memory (verbs.MR).
type region struct {
	domain *domain
	lease  *lease
	frag   verbs.Frag
	rkey   uint32
	// copies is set for a region that has too many runs for keys of their own. It has memory in C
	// besides: PostSend copies the bytes of a work request there before it sends them.
	copies bool

	mu     sync.RWMutex // guards all fields below
	runs   []run        // registered pieces; nil after deregistration
	mrs    []*C.struct_ibv_mr
	pieces [][]byte // pieces of the consumer to which Deregister copies the bytes back; nil: none
	memory []byte   // memory of C that the device uses; nil: none
}

// Register registers memory (verbs.PD). Empty pieces are left out.
func (p *domain) Register(pieces [][]byte, access verbs.Access) (verbs.MR, error) {
	runs, total := runsOf(pieces)
	if err := checkRegion(total, access); err != nil {
		return nil, err
	}
	if most := uint64(p.dev.limit.max_region); total > most {
		return nil, verbs.ErrTooLarge
	}
	if !p.enter() {
		return nil, verbs.ErrClosed
	}
	defer p.leave()
	r := &region{domain: p, runs: runs}
	r.frag.Length = uint32(total)
	var err error
	switch remote := access&verbs.RemoteWrite != 0; {
	case remote && len(runs) > 1:
		r.pieces = append([][]byte(nil), pieces...)
		err = r.inC(total, access)
	case !remote && len(runs) > mostKeys:
		r.copies = true
		err = r.inC(total, access)
	default:
		err = r.pinned(pieces, access)
	}
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.regions[r] = struct{}{}
	return r, nil
}

// pinned registers each run without a copy, and pins it.
func (r *region) pinned(pieces [][]byte, access verbs.Access) error {
	var pins runtime.Pinner
	for _, p := range pieces {
		if len(p) != 0 {
			pins.Pin(unsafe.SliceData(p))
		}
	}
	r.lease = newLease(pins.Unpin)
	for i := range r.runs {
		run := &r.runs[i]
		if err := r.register(run, run.start, uint64(run.length), access); err != nil {
			r.undo()
			return err
		}
	}
	return nil
}

// inC allocates one piece of memory in C, and registers it in the place of all runs.
func (r *region) inC(total uint64, access verbs.Access) error {
	var memory unsafe.Pointer
	if rc := C.ulnet_alloc(C.size_t(total), &memory); rc != 0 {
		return makeError("memory for a region", errno(rc))
	}
	// The pieces need no pins: the device uses the memory in C, and the region refers to the pieces.
	r.lease = newLease(func() { C.free(memory) })
	r.memory = unsafe.Slice((*byte)(memory), total)
	gather(r.memory, r.pieces)
	whole := &run{}
	if err := r.register(whole, memory, total, access); err != nil {
		r.undo()
		return err
	}
	for i := range r.runs {
		run := &r.runs[i]
		run.base, run.key = whole.base+run.offset, whole.key
	}
	return nil
}

// register registers the memory of a run with the device. If peers may write to it, they get a
// random address for it.
func (r *region) register(to *run, memory unsafe.Pointer, length uint64, access verbs.Access) error {
	to.base = uint64(uintptr(memory))
	if access&verbs.RemoteWrite != 0 {
		to.base = randomAddress(to.base)
	}
	var mr *C.struct_ibv_mr
	rc := C.ulnet_register(r.domain.pd, C.uintptr_t(uintptr(memory)), C.size_t(length), C.uint64_t(to.base), C.int(access), &mr)
	if rc != 0 {
		return makeError("register memory", errno(rc))
	}
	to.key = uint32(mr.lkey)
	if len(r.mrs) == 0 {
		r.frag.Address, r.rkey = to.base, uint32(mr.rkey)
	}
	r.mrs = append(r.mrs, mr)
	return nil
}

// randomAddress returns another address with the same offset in its page, as devices require.
func randomAddress(real uint64) uint64 {
	const page, space = 1 << 12, 1 << 47
	var b [8]byte
	_, _ = rand.Read(b[:]) // rand.Read never fails
	return page + binary.LittleEndian.Uint64(b[:])%(space-page)&^(page-1) + real%page
}

// undo ends registrations, and frees their memory if the device has released it.
func (r *region) undo() {
	free := true
	for _, mr := range r.mrs {
		free = r.domain.deregister(mr, func() {}) && free
	}
	r.mrs, r.runs = nil, nil
	if !free {
		r.domain.dev.keep(r)
		return
	}
	r.lease.release()
}

// kept has the leases of memory that a device has never released. They stay in the list for ever,
// because the device may still use the memory.
var kept struct {
	sync.Mutex
	list []*lease
}

func (*device) keep(r *region) {
	kept.Lock()
	defer kept.Unlock()
	kept.list = append(kept.list, r.lease)
}

// RKey returns the remote key (verbs.MR).
func (r *region) RKey() uint32 { return r.rkey }

// Frags appends one fragment (verbs.MR). Peers can use it if the region is for
// RemoteWrite.
func (r *region) Frags(to []verbs.Frag) []verbs.Frag { return append(to, r.frag) }

// Deregister takes the memory back (verbs.MR). When the device has ended the registration no
// peer can write, and the bytes that peers have written are copied back to the pieces.
func (r *region) Deregister() {
	r.mu.Lock()
	if r.runs == nil {
		r.mu.Unlock()
		return
	}
	// C memory is freed when its lease ends: hold the lease until the bytes are copied back.
	held := r.lease.hold()
	r.undo()
	scatter(r.pieces, r.memory)
	r.pieces, r.memory = nil, nil
	r.mu.Unlock()
	if held {
		r.lease.release()
	}
	p := r.domain
	p.mu.Lock()
	delete(p.regions, r)
	p.mu.Unlock()
	p.freeIfDone()
}

// find returns the address and the key by which the device accesses b, and a lease on that
// memory, which the caller releases. If the region is a copy of the consumer's memory, find
// copies b into it.
func (r *region) find(b []byte) (base uint64, key uint32, l *lease, err error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	run, offset := locate(r.runs, b)
	if run == nil || !r.lease.hold() {
		return 0, 0, nil, errForeign
	}
	if r.copies {
		copy(r.memory[run.offset+offset:], b)
	}
	return run.base + offset, run.key, r.lease, nil
}
