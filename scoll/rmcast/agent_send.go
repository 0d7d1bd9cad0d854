package rmcast

import (
	"sync"
	"sync/atomic"

	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/portals/keyring"
)

// keptSpare is how many messages' memory is kept for more.
const keptSpare = 256

// outbox sends messages: multicast and plain PUTs, without acknowledgement by LNet.
type outbox struct {
	a       *Agent
	event   func(*portals.Event) // made once
	notSent atomic.Uint64

	mu   sync.Mutex
	free []*outgoing // guarded by mu
}

// outgoing is a message on its way, with memory of its own.
type outgoing struct {
	data     []byte
	segments [1]portals.Segment
}

func (o *outbox) init(a *Agent) { o.a, o.event = a, o.done }

// take returns memory with a message of two parts, signed if there are keys.
func (o *outbox) take(portal int, bind keyring.Binding, head, data []byte) *outgoing {
	o.mu.Lock()
	var p *outgoing
	if n := len(o.free); n > 0 {
		p, o.free = o.free[n-1], o.free[:n-1]
	}
	o.mu.Unlock()
	if p == nil {
		p = new(outgoing)
	}
	p.data = o.a.out.sign(portal, append(append(p.data[:0], head...), data...), bind)
	p.segments[0] = p.data
	return p
}

func (o *outbox) give(p *outgoing) {
	o.mu.Lock()
	if len(o.free) < keptSpare {
		o.free = append(o.free, p)
	}
	o.mu.Unlock()
}

func (o *outbox) bind(p *outgoing, options portals.MDOption) (portals.MDHandle, bool) {
	md, err := o.a.table.MDBind(portals.MD{
		Segments: p.segments[:], Threshold: 1, Options: options, UserPtr: p, Handler: o.event,
	}, portals.Unlink)
	if err != nil {
		o.notSent.Add(1)
		o.give(p)
	}
	return md, err == nil
}

// multicast sends a datagram to a group.
func (o *outbox) multicast(group GroupID, head, data []byte) {
	var bind keyring.Binding
	if o.a.out.on {
		bind = toGroup(o.a.cfg.Self, portals.Group(group))
	}
	if md, ok := o.bind(o.take(DataPortal, bind, head, data), 0); ok {
		o.began(md, o.a.table.PutMulticast(portals.PutMulticastRequest{
			Self: o.a.cfg.Self, MD: md, Group: portals.Group(group), Portal: DataPortal,
		}))
	}
}

// put sends a message to one node.
func (o *outbox) put(to nid.NID, portal int, options portals.MDOption, head, data []byte) {
	var bind keyring.Binding
	if o.a.out.on {
		bind = keyring.Between(o.a.cfg.Self, to)
	}
	if md, ok := o.bind(o.take(portal, bind, head, data), options); ok {
		o.began(md, o.a.table.Put(portals.PutRequest{
			Self: o.a.cfg.Self, MD: md, Target: nid.ProcessID{NID: to, PID: o.a.pid}, Portal: portal,
		}))
	}
}

// began ends a message that could not begin: its event gives the memory back.
func (o *outbox) began(md portals.MDHandle, err error) {
	if err != nil {
		o.notSent.Add(1)
		_ = o.a.table.MDUnlink(md)
	}
}

// done handles the events of a message: SEND, or UNLINK if it did not begin.
func (o *outbox) done(e *portals.Event) {
	if e.Err != nil {
		o.notSent.Add(1)
	}
	if e.Unlinked {
		o.give(e.UserPtr.(*outgoing))
	}
}
