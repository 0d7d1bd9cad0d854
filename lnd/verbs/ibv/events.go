//go:build ibverbs && cgo && linux

package ibv

/*
#include "glue.h"
*/
import "C"

import (
	"maps"
	"slices"
	"unsafe"

	"ulnet/lnd/verbs"
)

// mostFailures is how often in a row reading an event may fail; then the device is given up.
const mostFailures = 16

// watch takes the events of the connection manager until the device closes.
func (d *device) watch() {
	rc, err := d.arrived.SyscallConn()
	if err != nil {
		d.broken(err)
		return
	}
	var event C.struct_ulnet_event
	for failures := 0; ; {
		var got C.int
		if err := rc.Read(func(uintptr) bool {
			got = d.nextEvent(&event)
			return got != -C.EAGAIN
		}); err != nil {
			return // the event channel was closed
		}
		if got == 0 {
			failures = 0
			d.handle(&event)
			continue
		}
		d.log.Warn("event of the RDMA connection manager", "err", errno(got))
		if failures++; failures == mostFailures {
			d.broken(errno(got))
			return
		}
	}
}

func (d *device) nextEvent(event *C.struct_ulnet_event) C.int {
	d.cm.Lock()
	defer d.cm.Unlock()
	return C.ulnet_next_event(d.channel, event)
}

// broken ends all connections: the device reports no more of their events.
func (d *device) broken(err error) {
	d.log.Error("the RDMA connection manager has failed: restart, and see the kernel's log", "err", err)
	d.cm.Lock()
	list := slices.Collect(maps.Values(d.conns))
	d.cm.Unlock()
	for _, c := range list {
		c.end(verbs.Event{Kind: verbs.Disconnected, Status: verbs.Fatal})
	}
}

// handle handles an event, in the goroutine of watch.
func (d *device) handle(e *C.struct_ulnet_event) {
	private := C.GoBytes(unsafe.Pointer(&e.private_data[0]), C.int(e.private_size))
	if e.kind == C.RDMA_CM_EVENT_CONNECT_REQUEST {
		d.requested(e, private)
		return
	}
	d.cm.Lock()
	c := d.conns[uint32(e.token)]
	d.cm.Unlock()
	if c == nil {
		if e.kind == C.RDMA_CM_EVENT_DEVICE_REMOVAL {
			d.log.Warn("the RDMA device goes away: restart when it is back", "addr", d.attr.Addr)
		}
		return // the connection was freed meanwhile
	}
	switch e.kind {
	case C.RDMA_CM_EVENT_ADDR_RESOLVED:
		c.resolved(func() C.int { return C.ulnet_resolve_route(c.id, c.resolveTimeout()) })
	case C.RDMA_CM_EVENT_ROUTE_RESOLVED:
		c.resolved(c.ask)
	case C.RDMA_CM_EVENT_ESTABLISHED:
		c.established(private)
	case C.RDMA_CM_EVENT_REJECTED:
		c.end(verbs.Event{Kind: verbs.Rejected, Private: private, Reason: uint16(e.status)})
	case C.RDMA_CM_EVENT_ADDR_ERROR, C.RDMA_CM_EVENT_ROUTE_ERROR, C.RDMA_CM_EVENT_CONNECT_ERROR, C.RDMA_CM_EVENT_UNREACHABLE:
		c.end(verbs.Event{Kind: verbs.Unreachable})
	case C.RDMA_CM_EVENT_DISCONNECTED:
		c.end(verbs.Event{Kind: verbs.Disconnected})
	case C.RDMA_CM_EVENT_DEVICE_REMOVAL:
		c.end(verbs.Event{Kind: verbs.Disconnected, Status: verbs.Fatal})
	}
}
