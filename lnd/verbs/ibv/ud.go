//go:build ibverbs && cgo && linux

package ibv

/*
#include "glue.h"
*/
import "C"

import (
	"fmt"
	"net/netip"
	"sync"

	"ulnet/lnd/verbs"
)

// joinTimeoutMS is how long joining a group may take, in milliseconds.
const joinTimeoutMS = 5000

// datagrams is a queue pair for datagrams (verbs.UD). It has an event channel of its own,
// which only Join reads.
type datagrams struct {
	dev     *device
	cfg     verbs.UDConfig
	pair    *queuePair
	gid     C.uint8_t // index of the device's GID in the port's table
	channel *C.struct_rdma_event_channel
	id      *C.struct_rdma_cm_id
	handles handles

	mu     sync.Mutex // guards all fields below, and the id
	groups map[netip.Addr]bool
	closed bool
}

var _ verbs.UD = (*datagrams)(nil)

// NewUD makes a queue pair for datagrams (verbs.Device).
func (d *device) NewUD(cfg verbs.UDConfig) (verbs.UD, error) {
	if d.limit.ethernet == 0 {
		return nil, fmt.Errorf("datagrams of the device at %v: with libibverbs they need RoCE, this port is InfiniBand", d.attr.Addr)
	}
	u := &datagrams{dev: d, cfg: cfg, groups: map[netip.Addr]bool{}}
	u.handles = handles{list: map[netip.Addr]*handle{}, make: u.newHandle, free: freeHandle, begin: u.begin, done: u.done}
	gid := gidOf(d.attr.Addr)
	if rc := C.ulnet_find_gid(d.context, d.port, (*C.uint8_t)(&gid[0]), &u.gid); rc != 0 {
		return nil, openError(d.attr.Addr, "find the GID of RoCEv2", errno(rc))
	}
	token := d.newToken()
	err := use(d, d.uds, u, func() error {
		err := u.open(token)
		if err != nil {
			u.free()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return u, nil
}

// open makes everything except the queue pair; free undoes it. The caller holds the device's
// lock.
func (u *datagrams) open(token uint32) error {
	d := u.dev
	if rc := C.ulnet_channel(&u.channel); rc != 0 {
		return makeError("make an event channel", errno(rc))
	}
	if rc := C.ulnet_create_id(u.channel, C.uint32_t(token), 1, &u.id); rc != 0 {
		u.id = nil
		return makeError("make a queue pair for datagrams", errno(rc))
	}
	at := netip.AddrPortFrom(d.attr.Addr, 0)
	if rc := C.ulnet_bind(u.id, sockaddr(at), 0); rc != 0 {
		return bindError(at, errno(rc))
	}
	_ = C.ulnet_set_tos(u.id, C.uint8_t(u.cfg.TrafficClass)) // the class affects only the packets of joins, so an error does no harm
	cfg := verbs.QPConfig{
		ID: u.cfg.ID, PD: u.cfg.PD, Sends: u.cfg.Sends, Recvs: u.cfg.Recvs, Pool: u.cfg.Pool, MaxSends: u.cfg.MaxSends,
	}
	var err error
	if u.pair, err = d.newPair(u.id, token, &cfg, u, u.failed); err != nil {
		return err
	}
	if rc := C.ulnet_set_qkey(u.pair.qp, C.uint32_t(u.cfg.QKey)); rc != 0 {
		u.pair.discard()
		return makeError("set the Q_Key", errno(rc))
	}
	u.pair.setReady()
	return nil
}

// free undoes open, but leaves the queue pair.
func (u *datagrams) free() {
	if u.id != nil {
		C.rdma_destroy_id(u.id)
		u.id = nil
	}
	if u.channel != nil {
		C.rdma_destroy_event_channel(u.channel)
		u.channel = nil
	}
}

// failed handles the failure of the queue pair. Posted datagrams complete in error.
func (u *datagrams) failed(status verbs.Status) {
	if status != verbs.Flushed {
		u.dev.log.Warn("a queue pair for datagrams has failed: close it", "err", status)
	}
}

// QPN is the number of the queue pair (verbs.UD).
func (u *datagrams) QPN() uint32 { return u.pair.qpn }

// Join receives datagrams that are sent to a group (verbs.UD). It blocks until the system has
// joined.
func (u *datagrams) Join(group netip.Addr) error {
	group = group.Unmap()
	if err := u.dev.sameFamily(group); err != nil {
		return err
	}
	if !group.IsMulticast() {
		return fmt.Errorf("join %v: it is no multicast address", group)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.closed:
		return verbs.ErrClosed
	case u.groups[group]:
		return nil
	}
	if rc := C.ulnet_join(u.id, sockaddr(netip.AddrPortFrom(group, 0)), joinTimeoutMS); rc != 0 {
		return fmt.Errorf("join %v: %w: see whether the interface of %v does multicast", group, errno(rc), u.dev.attr.Addr)
	}
	u.groups[group] = true
	return nil
}

// Leave ends the effect of a Join (verbs.UD).
func (u *datagrams) Leave(group netip.Addr) error {
	group = group.Unmap()
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed || !u.groups[group] {
		return nil
	}
	return u.leave(group)
}

// leave leaves a group; the caller holds mu.
func (u *datagrams) leave(group netip.Addr) error {
	delete(u.groups, group)
	if rc := C.ulnet_leave(u.id, sockaddr(netip.AddrPortFrom(group, 0))); rc != 0 {
		return makeError(fmt.Sprintf("leave %v", group), errno(rc))
	}
	return nil
}

// Close ends the queue pair (verbs.UD).
func (u *datagrams) Close() {
	u.mu.Lock()
	if u.closed {
		u.mu.Unlock()
		return
	}
	u.closed = true
	for group := range u.groups {
		// A queue pair that is attached to a group cannot be destroyed.
		_ = u.leave(group)
	}
	u.mu.Unlock()
	u.pair.quiet.Store(true)
	u.pair.setError()
	if rc := C.ulnet_fail_qp(u.pair.qp); rc != 0 {
		u.dev.log.Debug("take a queue pair to error state", "qpn", u.pair.qpn, "err", errno(rc))
	}
	u.pair.shut(func() {
		u.handles.close()
		u.free()
		drop(u.dev, u.dev.uds, u)
	})
}

// accept fills in the sender of a datagram, and reports whether to make its upcall: the system
// also delivers the queue pair's own datagrams.
func (u *datagrams) accept(b []byte, srcQPN, ownQPN uint32, c *verbs.Completion) bool {
	src, dst, ok := netHeader(b, u.dev.attr.Addr.Is4())
	if !ok || src == u.dev.attr.Addr && srcQPN == ownQPN {
		return false
	}
	c.SrcAddr, c.SrcQPN = src, srcQPN
	if dst.IsMulticast() {
		c.Group = dst
	}
	return true
}
