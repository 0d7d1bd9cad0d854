//go:build ibverbs && cgo && linux

package ibv

/*
#include "glue.h"
*/
import "C"

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"unsafe"

	"ulnet/lnd/verbs"
)

// backlog bounds the requests that wait in the kernel.
const backlog = 256

var errAnswered = errors.New("this request for a connection is answered, or its device is closed")

// listener is a port that accepts connections (verbs.Listener).
type listener struct {
	dev     *device
	id      *C.struct_rdma_cm_id // guarded by the lock of the device; nil when it is closed
	token   uint32
	request func(verbs.Request)
}

// Listen takes requests for connections (verbs.Device).
func (d *device) Listen(port uint16, upcall func(verbs.Request)) (verbs.Listener, error) {
	l := &listener{dev: d, token: d.newToken(), request: upcall}
	d.cm.Lock()
	defer d.cm.Unlock()
	if d.closed {
		return nil, verbs.ErrClosed
	}
	if rc := C.ulnet_create_id(d.channel, C.uint32_t(l.token), 0, &l.id); rc != 0 {
		return nil, makeError("make a listener", errno(rc))
	}
	at := netip.AddrPortFrom(d.attr.Addr, port)
	rc := C.ulnet_bind(l.id, sockaddr(at), 0)
	if rc == 0 {
		rc = C.ulnet_listen(l.id, backlog)
	}
	if rc != 0 {
		C.rdma_destroy_id(l.id)
		return nil, bindError(at, errno(rc))
	}
	d.listeners[l.token] = l
	return l, nil
}

// Close refuses further requests (verbs.Listener).
func (l *listener) Close() error {
	d := l.dev
	d.cm.Lock()
	defer d.cm.Unlock()
	if l.id != nil {
		C.rdma_destroy_id(l.id)
		l.id = nil
		delete(d.listeners, l.token)
	}
	return nil
}

// request is a connection that a peer asks for (verbs.Request).
type request struct {
	dev     *device
	id      *C.struct_rdma_cm_id // identifier in rdma_cm; guarded by the lock of the device
	peer    netip.AddrPort
	private []byte
}

// requested makes the upcall of a request, in the goroutine of watch. It refuses one for a
// listener that was closed meanwhile.
func (d *device) requested(e *C.struct_ulnet_event, private []byte) {
	r := &request{dev: d, id: e.id, peer: addrPort(&e.peer), private: make([]byte, verbs.MaxRequestPrivate)}
	copy(r.private, private)
	d.cm.Lock()
	l := d.listeners[uint32(e.token)]
	if l == nil || d.closed {
		_ = r.refuse(nil)
		d.cm.Unlock()
		return
	}
	C.ulnet_set_token(r.id, 0)
	d.requests[r] = struct{}{}
	d.cm.Unlock()
	l.request(r)
}

// Peer is the address that the request names (verbs.Request).
func (r *request) Peer() netip.AddrPort { return r.peer }

// Private is the private data of the request (verbs.Request).
func (r *request) Private() []byte { return r.private }

// Reject refuses the request (verbs.Request).
func (r *request) Reject(private []byte) error {
	if len(private) > verbs.MaxRejectPrivate {
		return fmt.Errorf("%d bytes of private data, %d at most: %w", len(private), verbs.MaxRejectPrivate, verbs.ErrTooLarge)
	}
	r.dev.cm.Lock()
	defer r.dev.cm.Unlock()
	if !r.take() {
		return errAnswered
	}
	return r.refuse(private)
}

// take reports whether the caller may answer the request: only the first caller may. The
// caller holds the device's lock.
func (r *request) take() bool {
	_, ok := r.dev.requests[r]
	delete(r.dev.requests, r)
	return ok
}

// refuse rejects the request, and frees the id. The caller holds the device's lock.
func (r *request) refuse(private []byte) error {
	rc := C.ulnet_reject(r.id, unsafe.Pointer(unsafe.SliceData(private)), C.uint8_t(len(private)))
	C.rdma_destroy_id(r.id)
	r.id = nil
	if rc != 0 {
		return makeError("reject a connection", errno(rc))
	}
	return nil
}

// Accept makes the connection (verbs.Request).
func (r *request) Accept(cfg verbs.ConnConfig, events func(verbs.Conn, verbs.Event)) (verbs.Conn, error) {
	d := r.dev
	cfg.MTU = 0 // the MTU of the request is used
	badConfig := d.checkConn(&cfg, verbs.MaxAcceptPrivate)
	cfg.Private = bytes.Clone(cfg.Private)
	token := d.newToken()
	d.cm.Lock()
	defer d.cm.Unlock()
	if !r.take() {
		return nil, errAnswered
	}
	if badConfig != nil {
		_ = r.refuse(nil)
		return nil, badConfig
	}
	c := &conn{dev: d, id: r.id, cfg: cfg, events: events}
	var err error
	if c.pair, err = d.newPair(c.id, token, &cfg.QP, nil, c.failed); err != nil {
		_ = r.refuse(nil)
		return nil, err
	}
	C.ulnet_set_token(c.id, C.uint32_t(token))
	d.conns[token] = c
	// From here on the peer may send, and there may be upcalls for its messages: the queue
	// pair is in the table, and Accept returns it soon.
	c.pair.setReady()
	rc := C.ulnet_accept(c.id, unsafe.Pointer(unsafe.SliceData(cfg.Private)), C.uint8_t(len(cfg.Private)), C.uint8_t(cfg.RNRRetryCount))
	if rc != 0 {
		delete(d.conns, token)
		c.pair.discard()
		_ = r.refuse(nil)
		return nil, makeError("accept a connection", errno(rc))
	}
	return c, nil
}
