//go:build ibverbs && cgo && linux

package ibv

import (
	"net/netip"
	"sync"

	"ulnet/lnd/verbs"
)

// mostHandles bounds the nodes and groups that a queue pair sends datagrams to.
const mostHandles = 4096

// handle is an address handle of a node or group: its number for C, 0 while the address is
// being resolved.
type handle struct{ ah uintptr }

// handles has the address handles of a queue pair. Every method is safe for
// concurrent use.
type handles struct {
	// make makes an address handle, which may take long for a node.
	make func(to netip.Addr) (uintptr, error)
	free func(ah uintptr)
	// begin is called before a node is resolved, and done after that, so that the objects that
	// the function make needs exist in between.
	begin func() bool
	done  func()

	mu     sync.Mutex // guards all fields below
	list   map[netip.Addr]*handle
	closed bool
}

// find returns the handle of an address. 0 means that the address is being resolved, which may
// take a while for a node; a group's handle is there at once.
func (h *handles) find(to netip.Addr) (uintptr, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if e := h.list[to]; e != nil {
		return e.ah, nil
	}
	switch {
	case h.closed:
		return 0, verbs.ErrClosed
	case len(h.list) >= mostHandles:
		return 0, verbs.ErrFull
	}
	e := &handle{}
	if to.IsMulticast() {
		ah, err := h.make(to)
		if err != nil {
			return 0, err
		}
		e.ah = ah
		h.list[to] = e
		return ah, nil
	}
	if !h.begin() {
		return 0, verbs.ErrClosed
	}
	h.list[to] = e
	go h.look(to, e)
	return 0, nil
}

// look resolves the address of a node and makes its handle. If that fails, the next datagram to
// the address starts another attempt.
func (h *handles) look(to netip.Addr, e *handle) {
	defer h.done()
	ah, err := h.make(to)
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case err != nil:
		delete(h.list, to)
	case h.closed:
		h.free(ah)
	default:
		e.ah = ah
	}
}

// close frees all handles; no work request names one any more. A handle that is being made is
// freed when it has been made.
func (h *handles) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for _, e := range h.list {
		if e.ah != 0 {
			h.free(e.ah)
		}
	}
	clear(h.list)
}
