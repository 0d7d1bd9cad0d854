//go:build ibverbs && cgo && linux

package ibv

/*
#include "glue.h"
*/
import "C"

import (
	"fmt"
	"sync/atomic"

	"ulnet/lnd/verbs"
)

// timer is a pending call of the device's clock.
type timer interface{ Stop() bool }

// conn is a connection (verbs.Conn). All fields except the atomic ones are guarded by the lock
// of the device.
type conn struct {
	dev    *device
	id     *C.struct_rdma_cm_id // the identifier in rdma_cm; nil when destroyed
	pair   *queuePair
	cfg    verbs.ConnConfig
	events func(verbs.Conn, verbs.Event)

	asking atomic.Bool  // this side has requested the connection, which is not established yet
	silent atomic.Bool  // whether no more events are reported
	told   bool         // whether Established was reported
	final  bool         // whether the connection has its last event, which is reported or will be
	cause  verbs.Status // status in the last event
	closed bool
	giveUp timer // timer after which the request is given up; nil: none
}

var _ verbs.Conn = (*conn)(nil)

// checkConn returns an error for a configuration that the device does not support.
func (d *device) checkConn(cfg *verbs.ConnConfig, mostPrivate int) error {
	switch {
	case len(cfg.Private) > mostPrivate:
		return fmt.Errorf("%d bytes of private data, %d at most: %w", len(cfg.Private), mostPrivate, verbs.ErrTooLarge)
	case cfg.RetryCount > 7 || cfg.RNRRetryCount > 7:
		return fmt.Errorf("retry counts %d and %d, 7 at most", cfg.RetryCount, cfg.RNRRetryCount)
	case cfg.MTU != 0 && cfg.MTU != d.attr.MTU:
		return fmt.Errorf("packets of %d bytes are asked for, with libibverbs they have %d, which the interface lets pass: "+
			"leave ib_mtu at 0", cfg.MTU, d.attr.MTU)
	}
	return nil
}

// QPN is the number of the queue pair (verbs.Conn).
func (c *conn) QPN() uint32 { return c.pair.qpn }

// PostSend posts work requests (verbs.Conn).
func (c *conn) PostSend(wrs []verbs.SendWR) error { return c.pair.postSend(wrs) }

// Disconnect ends the connection (verbs.Conn).
func (c *conn) Disconnect() { c.end(verbs.Event{Kind: verbs.Disconnected}) }

// Close frees the connection (verbs.Conn).
func (c *conn) Close() { c.finish(true) }

// established handles the establishment of the connection. private is the peer's private data.
func (c *conn) established(private []byte) {
	c.dev.cm.Lock()
	defer c.dev.cm.Unlock()
	if c.told || c.final {
		return
	}
	ev := verbs.Event{Kind: verbs.Established}
	if c.asking.Load() {
		ev.Private = private
	}
	c.told = true
	c.asking.Store(false)
	c.stopTimer()
	c.pair.setReady()
	c.tell(ev)
}

// end ends the connection with its last event, if it has none yet.
func (c *conn) end(ev verbs.Event) {
	c.dev.cm.Lock()
	defer c.dev.cm.Unlock()
	c.endLocked(ev)
}

func (c *conn) endLocked(ev verbs.Event) {
	if !c.final {
		c.cause = ev.Status
		c.down()
		c.tell(ev)
	}
}

// failed is called by the queue pair when it fails: it ends the connection with a status. The device
// has told the peer of the failure, and the peer may have hung up already. If a cause is known from an
// earlier failure, that cause stays.
func (c *conn) failed(status verbs.Status) {
	c.dev.cm.Lock()
	defer c.dev.cm.Unlock()
	if c.cause == verbs.Success && status != verbs.Flushed {
		c.cause = status
	}
	c.endLocked(verbs.Event{Kind: verbs.Disconnected, Status: status})
}

// down takes the queue pair to error state and tells the peer. The caller holds the
// device's lock.
func (c *conn) down() {
	c.final = true
	c.stopTimer()
	c.pair.setError()
	// The call fails if the connection is not established yet, or has ended. Then there is no peer
	// to tell.
	_ = C.ulnet_disconnect(c.id)
	if rc := C.ulnet_fail_qp(c.pair.qp); rc != 0 {
		c.dev.log.Debug("take a queue pair to error state", "qpn", c.pair.qpn, "err", errno(rc))
	}
}

func (c *conn) stopTimer() {
	if c.giveUp != nil {
		c.giveUp.Stop()
		c.giveUp = nil
	}
}

// tell makes the upcall of an event after those of earlier completions. After the last event
// there are no upcalls for arrived messages. The caller holds the device's lock, which keeps
// events in order.
func (c *conn) tell(ev verbs.Event) {
	c.pair.after(func() {
		if ev.Kind != verbs.Established {
			c.pair.quiet.Store(true)
		}
		if ev.Kind == verbs.Disconnected {
			c.dev.cm.Lock()
			ev.Status = c.cause
			c.dev.cm.Unlock()
		}
		if !c.silent.Load() {
			c.events(c, ev)
		}
	})
}

// finish closes the connection. With silent set no event follows.
func (c *conn) finish(silent bool) {
	c.dev.cm.Lock()
	defer c.dev.cm.Unlock()
	if silent {
		c.silent.Store(true)
		c.pair.quiet.Store(true)
	}
	if c.closed {
		return
	}
	c.closed = true
	if !c.final {
		c.down()
	}
	c.pair.shut(func() {
		delete(c.dev.conns, c.pair.token)
		C.rdma_destroy_id(c.id)
		c.id = nil
	})
}
