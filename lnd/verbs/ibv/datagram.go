//go:build ibverbs && cgo && linux

package ibv

/*
#include "glue.h"
*/
import "C"

import (
	"fmt"
	"net/netip"
	"unsafe"

	"ulnet/lnd/verbs"
)

// hops is the hop limit of datagrams, as librdmacm has it for groups (rocev2 §10).
const hops = 64

// PostSend posts datagrams, all of them or none (verbs.UD).
func (u *datagrams) PostSend(list []verbs.Datagram) error {
	q := u.pair
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.room(len(list)); err != nil {
		return err
	}
	start := q.ring.tail
	q.scratch.reset()
	lost := false
	for i := range list {
		posted, err := u.build(&list[i])
		if err != nil {
			q.ring.cancel(start)
			return err
		}
		lost = lost || !posted
	}
	if err := q.hand(start); err != nil {
		return err
	}
	if lost {
		q.sends.do(q.tellSettled)
	}
	return nil
}

// build makes a datagram for C. It returns false for one that is lost because the address of
// its node is not resolved yet.
func (u *datagrams) build(dg *verbs.Datagram) (posted bool, err error) {
	q, to := u.pair, dg.To.Unmap()
	if err := u.dev.sameFamily(to); err != nil {
		return false, err
	}
	if to.IsMulticast() != (dg.QPN == verbs.MulticastQPN) {
		return false, fmt.Errorf("a datagram to %v and queue pair %#x: groups, and they alone, have %#x", to, dg.QPN, verbs.MulticastQPN)
	}
	if err := u.fits(dg.Pieces); err != nil {
		return false, err
	}
	ah, err := u.handles.find(to)
	if err != nil {
		return false, err
	}
	if ah == 0 {
		begin := q.ring.tail
		q.ring.push(dg.ID, verbs.Send, dg.Signaled)
		q.ring.settle(begin, verbs.Success)
		return false, nil
	}
	c := q.next(dg.ID, verbs.Send, dg.Signaled)
	c.ah, c.qpn, c.qkey = C.uintptr_t(ah), C.uint32_t(dg.QPN), C.uint32_t(dg.QKey)
	_, err = q.gather(dg.Pieces, c)
	return true, err
}

// fits returns an error for a datagram that is longer than a packet.
func (u *datagrams) fits(pieces []verbs.SGE) error {
	length := 0
	for i := range pieces {
		length += len(pieces[i].Bytes)
	}
	if length > u.dev.attr.MTU || len(pieces) > u.dev.attr.SGEs {
		return fmt.Errorf("a datagram of %d bytes in %d pieces, packets have %d, the device takes %d: %w",
			length, len(pieces), u.dev.attr.MTU, u.dev.attr.SGEs, verbs.ErrTooLarge)
	}
	return nil
}

// newHandle makes an address handle. For a node the system resolves its Ethernet address,
// which takes a while.
func (u *datagrams) newHandle(to netip.Addr) (uintptr, error) {
	gid := gidOf(to)
	var ah *C.struct_ibv_ah
	rc := C.ulnet_create_ah(u.pair.domain.pd, (*C.uint8_t)(&gid[0]), u.gid, u.dev.port, C.uint8_t(u.cfg.TrafficClass), hops, &ah)
	if rc != 0 {
		u.dev.log.Debug("find the way of datagrams", "to", to, "err", errno(rc))
		return 0, makeError(fmt.Sprintf("find the way to %v", to), errno(rc))
	}
	return uintptr(unsafe.Pointer(ah)), nil
}

// begin keeps the protection domain and the device from being freed while the address of a node is
// resolved; done ends that. begin returns false if the domain is closed.
func (u *datagrams) begin() bool {
	if !u.pair.domain.enter() {
		return false
	}
	u.dev.pairs.Add(1)
	return true
}

func (u *datagrams) done() {
	u.pair.domain.leave()
	u.dev.pairs.Done()
}

func freeHandle(ah uintptr) {
	C.ibv_destroy_ah((*C.struct_ibv_ah)(*(*unsafe.Pointer)(unsafe.Pointer(&ah))))
}
