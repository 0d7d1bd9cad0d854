package lnet

import (
	"sync"
	"sync/atomic"

	"ulnet/lnd"
	"ulnet/lnet/machine"
	"ulnet/lnet/router"
)

// forwarder has the messages that a node forwards between its nets (lnet-semantics §12.4).
// Package router keeps the accounts.
//
// A message that is not for this node becomes a transit. It gets a buffer, or waits for one
// while the driver leaves its payload unread (Hold). The driver reads the payload into the
// buffer, and from the buffer it is sent as a message of its own. There is no copy and, in the
// steady state, no allocation.
type forwarder struct {
	on     atomic.Bool // whether messages are forwarded; changed under mu
	pool   router.Pool
	routed atomic.Uint64 // number of messages forwarded
	length atomic.Uint64 // payload bytes of the messages forwarded

	mu       sync.Mutex
	routing                 // mode of the router and watch of its nets; guarded by mu
	ledger   *router.Ledger // nil until messages are forwarded; guarded by mu, like all below
	config   router.Config
	free     []*transit
	debtors  map[peerKey]*router.Neighbour // accounts of forgotten peers, see keepDebt
	settling bool                          // a goroutine is running settle
	checking machine.Timer                 // timer that looks for next hops that have stalled; nil while nothing is forwarded
	trimming machine.Timer                 // timer that frees buffers that are not needed; nil while there are none
	stopped  bool
}

// maxFreeTransits bounds the transits that are kept for later messages.
const maxFreeTransits = 1024

// transit is a message on its way through this node. Its fields belong to the goroutine that
// handles the message at the time.
type transit struct {
	msg    Message // the message that is sent to the next hop
	ticket router.Ticket
	ni     *NI           // NI at which the message arrived
	from   *peerNI       // peer from which the message came
	d      *lnd.Delivery // delivery of a message that waits for a buffer; guarded by forwarder.mu
	buffer []byte
	memory [1]lnd.Segment // the part of buffer that holds the payload
}

// take returns an unused transit. The caller holds f.mu.
func (f *forwarder) take() *transit {
	if last := len(f.free) - 1; last >= 0 {
		t := f.free[last]
		f.free[last] = nil
		f.free = f.free[:last]
		return t
	}
	t := new(transit)
	t.msg.Init()
	t.msg.transit, t.msg.Routed = t, true
	t.ticket.Owner = t
	return t
}

// release forgets a transit that has ended. The caller holds f.mu.
func (f *forwarder) release(t *transit) {
	t.ni, t.from, t.d = nil, nil, nil
	if len(f.free) < maxFreeTransits {
		f.free = append(f.free, t)
	}
}

// routerAccount is the account of a peer as sender and next hop. The caller holds forwarder.mu.
func (p *peerNI) routerAccount() *router.Neighbour {
	if p.neighbour == nil {
		p.neighbour = p.ni.node.forward.account(p)
	}
	return p.neighbour
}

// routerCredits returns how many router credits a peer has in all, how many are left, and the
// fewest that were left so far.
func (p *peerNI) routerCredits() (limit, left, lowest int) {
	f := &p.ni.node.forward
	f.mu.Lock()
	defer f.mu.Unlock()
	if p.neighbour != nil {
		return p.neighbour.Credits()
	}
	limit = p.ni.routerCredits()
	return limit, limit, limit
}

// routerCredits returns how many messages of one peer this NI may be forwarding at a time
// (lnet_peer_buffer_credits).
func (ni *NI) routerCredits() int {
	t := &ni.cfg.Tunables
	for _, credits := range []int{t.PeerBufferCredits, ni.node.cfg.PeerBufferCredits} {
		if credits > 0 {
			return credits
		}
	}
	return t.PeerCredits
}

// ask asks for a buffer for the message of d.
func (f *forwarder) ask(ni *NI, d *lnd.Delivery, from, next *peerNI) (lnd.Answer, DropReason) {
	f.mu.Lock()
	if !f.on.Load() {
		f.mu.Unlock()
		return lnd.Accept, RoutingOff
	}
	t := f.take()
	t.ni, t.from = ni, from
	size := int(d.Header.PayloadLength)
	switch f.ledger.Ask(&t.ticket, from.routerAccount(), next.routerAccount(), size) {
	case router.Granted:
		d.Owner = t
		f.mu.Unlock()
		t.fill(d)
		return lnd.Accept, NotDropped
	case router.Refused:
		f.release(t)
		f.mu.Unlock()
		return lnd.Accept, NextHopStalled
	}
	d.Owner, t.d = t, d
	f.watch(ni.node)
	f.mu.Unlock()
	return lnd.Hold, NotDropped
}

// fill gives the message of d its buffer.
func (t *transit) fill(d *lnd.Delivery) {
	size := int(d.Header.PayloadLength)
	if t.buffer = t.ni.node.forward.pool.Get(size); t.buffer != nil {
		t.memory[0] = t.buffer[:size]
		d.Sink = lnd.Payload{Segments: t.memory[:], Length: size}
	}
}
