package softroce

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"ulnet/lnd/verbs"
)

// device is a handle of the device of an address (verbs.Device). Objects that are made with
// the handle belong to it; packets, numbers and the connection manager belong to the hub.
type device struct {
	hub      *hub
	yielding timed        // makes connections free receive buffers that they do not use
	yieldAt  atomic.Int64 // earliest time at which yielding may run next

	mu        sync.Mutex // guards all fields below
	idle      sync.Cond  // signaled when a connection or an upcall has ended
	closed    bool
	running   int // number of listeners' upcalls in progress
	conns     map[*conn]struct{}
	listeners map[*listener]struct{}
	cqs       map[*cq]struct{}
	uds       map[*ud]struct{}
}

var _ verbs.Device = (*device)(nil)

func newDevice(h *hub) *device {
	d := &device{
		hub: h, conns: make(map[*conn]struct{}), listeners: make(map[*listener]struct{}), cqs: make(map[*cq]struct{}),
		uds: make(map[*ud]struct{}),
	}
	d.idle.L = &d.mu
	d.yielding.expired = d.yield
	return d
}

// Attr returns the device's attributes (verbs.Device).
func (d *device) Attr() verbs.DeviceAttr {
	return verbs.DeviceAttr{Addr: d.hub.addr, GUID: uint64(d.hub.guid), MTU: d.hub.cm.mtu().Bytes(), Frags: 1, SGEs: maxGather}
}

// protectionDomain is a domain as its consumer sees it (verbs.PD).
type protectionDomain struct {
	*domain
	dev *device
}

// NewPD makes a protection domain (verbs.Device).
func (d *device) NewPD() (verbs.PD, error) {
	return &protectionDomain{&domain{d.hub.regions}, d}, nil
}

var errInUse = errors.New("regions of the protection domain are still registered: deregister them first")

// Close ends the protection domain (verbs.PD).
func (p *protectionDomain) Close() error {
	if p.table.holds(p.domain) {
		return errInUse
	}
	return nil
}

// NewCQ makes a completion queue (verbs.Device).
func (d *device) NewCQ(depth int, done func([]verbs.Completion)) (verbs.CQ, error) {
	if depth < 1 || done == nil {
		return nil, fmt.Errorf("a completion queue for %d work requests", depth)
	}
	q := newCQ(d, depth, done)
	if err := add(d, d.cqs, q); err != nil {
		return nil, err
	}
	return q, nil
}

// add puts an object into one of the lists of a device, unless the device is closed.
func add[T comparable](d *device, list map[T]struct{}, one T) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return verbs.ErrClosed
	}
	list[one] = struct{}{}
	return nil
}

// remove takes an object out of one of the lists of a device.
func remove[T comparable](d *device, list map[T]struct{}, one T) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(list, one)
	d.idle.Broadcast()
}

// enter begins an upcall that belongs to no queue pair, such as that of a listener; leave ends the
// upcall. If the device is closed, enter returns false.
func (d *device) enter() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		d.running++
	}
	return !d.closed
}

func (d *device) leave() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.running--
	d.idle.Broadcast()
}

// Close ends all objects of the handle (verbs.Device). It must not be called from an upcall.
func (d *device) Close() error {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return nil
	}
	d.closed = true
	conns := slices.SortedFunc(maps.Keys(d.conns), func(a, b *conn) int { return int(a.qpn) - int(b.qpn) }) // sorted, so that two runs of a test agree
	listeners, uds := slices.Collect(maps.Keys(d.listeners)), slices.Collect(maps.Keys(d.uds))
	d.mu.Unlock()
	for _, l := range listeners {
		_ = l.Close()
	}
	for _, u := range uds {
		u.Close()
	}
	for _, c := range conns {
		c.Disconnect()
	}
	d.mu.Lock()
	for len(d.conns) > 0 || d.running > 0 {
		d.idle.Wait()
	}
	cqs := slices.Collect(maps.Keys(d.cqs))
	d.mu.Unlock()
	for _, q := range cqs {
		q.wait()
	}
	d.hub.timers.remove(&d.yielding)
	d.hub.opener.release(d.hub)
	return nil
}
