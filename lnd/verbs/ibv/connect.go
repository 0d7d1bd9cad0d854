//go:build ibverbs && cgo && linux

package ibv

/*
#include "glue.h"
*/
import "C"

import (
	"bytes"
	"net/netip"
	"time"
	"unsafe"

	"ulnet/lnd/verbs"
)

// resolveTimeout is the default time to resolve the address of a peer and the route to it.
const resolveTimeout = 10 * time.Second

// Connect requests a connection (verbs.Device). It makes the queue pair at once. Then the
// peer's address and the route to it are resolved, and the request is sent.
func (d *device) Connect(to netip.AddrPort, cfg verbs.ConnConfig, events func(verbs.Conn, verbs.Event)) (verbs.Conn, error) {
	if err := d.sameFamily(to.Addr()); err != nil {
		return nil, err
	}
	if err := d.checkConn(&cfg, verbs.MaxRequestPrivate); err != nil {
		return nil, err
	}
	cfg.Private = bytes.Clone(cfg.Private)
	token := d.newToken()
	c := &conn{dev: d, cfg: cfg, events: events}
	c.asking.Store(true)
	d.cm.Lock()
	defer d.cm.Unlock()
	if d.closed {
		return nil, verbs.ErrClosed
	}
	if rc := C.ulnet_create_id(d.channel, C.uint32_t(token), 0, &c.id); rc != 0 {
		return nil, makeError("make a connection", errno(rc))
	}
	if err := c.start(to, token); err != nil {
		C.rdma_destroy_id(c.id)
		return nil, err
	}
	d.conns[token] = c
	if cfg.Timeout > 0 {
		c.giveUp = d.cfg.Clock.AfterFunc(cfg.Timeout, c.late)
	}
	return c, nil
}

// start makes the queue pair and resolves the peer's address. The caller holds the device's
// lock, so that the answer finds the connection.
func (c *conn) start(to netip.AddrPort, token uint32) error {
	d := c.dev
	if rc := C.ulnet_set_tos(c.id, C.uint8_t(c.cfg.TrafficClass)); rc != 0 {
		return makeError("set the traffic class", errno(rc))
	}
	from := netip.AddrPortFrom(d.attr.Addr, c.cfg.SrcPort)
	reuse := C.int(0)
	if c.cfg.SrcPort != 0 {
		reuse = 1 // one local port may connect to several peers
	}
	if rc := C.ulnet_bind(c.id, sockaddr(from), reuse); rc != 0 {
		return bindError(from, errno(rc))
	}
	var err error
	if c.pair, err = d.newPair(c.id, token, &c.cfg.QP, nil, c.failed); err != nil {
		return err
	}
	if rc := C.ulnet_resolve_addr(c.id, sockaddr(to), c.resolveTimeout()); rc != 0 {
		c.pair.discard()
		return makeError("look for the address of the peer", errno(rc))
	}
	return nil
}

// resolveTimeout returns the time that one step may take, in milliseconds.
func (c *conn) resolveTimeout() C.int {
	t := c.cfg.Timeout
	if t <= 0 || t > resolveTimeout {
		t = resolveTimeout
	}
	return C.int(max(t.Milliseconds(), 1))
}

// resolved makes the next step of a request by calling step. If step fails there is no route to
// the peer.
func (c *conn) resolved(step func() C.int) {
	c.dev.cm.Lock()
	if c.final {
		c.dev.cm.Unlock()
		return
	}
	rc := step()
	c.dev.cm.Unlock()
	if rc != 0 {
		c.dev.log.Debug("ask for an RDMA connection", "err", errno(rc))
		c.end(verbs.Event{Kind: verbs.Unreachable})
	}
}

// ask sends the request. The caller holds the device's lock.
func (c *conn) ask() C.int {
	private := c.cfg.Private
	return C.ulnet_connect(c.id, unsafe.Pointer(unsafe.SliceData(private)), C.uint8_t(len(private)),
		C.uint8_t(c.cfg.RetryCount), C.uint8_t(c.cfg.RNRRetryCount))
}

// late ends a request that was not answered within its timeout.
func (c *conn) late() {
	if c.asking.Load() {
		c.end(verbs.Event{Kind: verbs.Unreachable})
	}
}
