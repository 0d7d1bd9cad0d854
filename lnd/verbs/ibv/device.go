//go:build ibverbs && cgo && linux

package ibv

/*
#cgo LDFLAGS: -libverbs -lrdmacm
#cgo CFLAGS: -Wall -Wextra
#include "glue.h"
*/
import "C"

import (
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"sync"
	"syscall"

	"ulnet/lnd/verbs"
)

// mostPieces bounds the pieces of a work request. Each work request in a send queue has room
// for this many.
const mostPieces = 16

// device is an address at an RDMA device (verbs.Device). Each call of Open returns another one;
// all share what libibverbs has open.
type device struct {
	cfg   verbs.OpenConfig
	log   *slog.Logger
	attr  verbs.DeviceAttr
	limit C.struct_ulnet_attr

	// id is bound to the address and used for nothing else: it keeps the device open.
	id      *C.struct_rdma_cm_id
	channel *C.struct_rdma_event_channel
	context *C.struct_ibv_context
	port    C.uint8_t
	arrived *os.File // becomes readable when the event channel has an event
	loop    sync.WaitGroup
	queues  sync.WaitGroup // the goroutines of completion queues
	pairs   sync.WaitGroup // the queue pairs that exist

	// cm is locked during every call of librdmacm, also while the library takes an event: then it
	// changes queue pairs, and no other goroutine may destroy these at that time.
	cm        sync.Mutex
	conns     map[uint32]*conn
	listeners map[uint32]*listener
	requests  map[*request]struct{}
	closed    bool

	table   sync.RWMutex // guards all fields below
	token   uint32
	byToken map[uint32]*queuePair
	byQPN   map[uint32]*queuePair
	pools   map[uint32]*pool
	domains map[*domain]struct{}
	cqs     map[*queue]struct{}
	uds     map[*datagrams]struct{}
}

var _ verbs.Device = (*device)(nil)

// Attr describes the device (verbs.Device).
func (d *device) Attr() verbs.DeviceAttr { return d.attr }

// newToken returns a number that no listener, queue pair or pool has.
func (d *device) newToken() uint32 {
	d.table.Lock()
	defer d.table.Unlock()
	for {
		d.token = (d.token + 1) % mostTokens
		if d.token != 0 && d.byToken[d.token] == nil && d.pools[d.token] == nil {
			return d.token
		}
	}
}

// sockaddr converts an address to C.
func sockaddr(a netip.AddrPort) C.struct_ulnet_addr {
	var to C.struct_ulnet_addr
	ip := a.Addr().Unmap().AsSlice()
	for i, b := range ip {
		to.ip[i] = C.uint8_t(b)
	}
	to.size, to.port = C.uint8_t(len(ip)), C.uint16_t(a.Port())
	return to
}

// addrPort converts an address from C.
func addrPort(a *C.struct_ulnet_addr) netip.AddrPort {
	var ip [16]byte
	for i := range ip {
		ip[i] = byte(a.ip[i])
	}
	addr, _ := netip.AddrFromSlice(ip[:min(int(a.size), len(ip))])
	return netip.AddrPortFrom(addr, uint16(a.port))
}

// errno returns the error of a negative result.
func errno(rc C.int) syscall.Errno { return syscall.Errno(-rc) }

// sameFamily returns an error for an address of another family than the device's.
func (d *device) sameFamily(a netip.Addr) error {
	switch {
	case a.Zone() != "":
		return fmt.Errorf("%v has a zone, which RDMA connections do not: use an address without one", a)
	case !a.IsValid() || a.Unmap().Is4() != d.attr.Addr.Is4():
		return fmt.Errorf("%v is not of the family of this device, %v", a, d.attr.Addr)
	}
	return nil
}
