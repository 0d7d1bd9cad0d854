// Package lo is the loopback driver (lolnd): the NI 0@lo, over which a node
// talks to itself. Payload is copied from the sender's memory descriptor to
// the receiver's; there are no credits, connections or time-outs.
//
// A message is delivered inside Send, unless a delivery is already under way, on another
// goroutine or further up this one's stack because a handler sends. Then the running delivery
// takes the message next. So messages keep their order, and handlers that answer each other do
// not recurse. After some messages a timer goes on with the others, because handlers may answer
// each other without end, and must not keep the goroutine that has sent the first message.
package lo

import (
	"context"
	"sync"
	"syscall"

	"ulnet/lnd"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// Driver makes the loopback NI. Its zero value is ready.
type Driver struct{}

// Type implements lnd.Driver.
func (Driver) Type() nid.NetType { return nid.Lo }

// Startup implements lnd.Driver.
func (Driver) Startup(cfg lnd.Config, up lnd.Upcalls) (lnd.NI, error) {
	ni := &loNI{up: up, clock: cfg.Clock, incarnation: cfg.Incarnation}
	ni.quiet.L = &ni.mu
	return ni, nil
}

type loNI struct {
	up          lnd.Upcalls
	clock       machine.Clock
	incarnation uint64

	mu      sync.Mutex
	quiet   sync.Cond // signaled when the delivering goroutine ends
	queue   lnd.Queue // messages to deliver; guarded by mu
	running bool      // a goroutine delivers messages, or a timer is going to; guarded by mu
	closed  bool      // Shutdown has begun; guarded by mu
	free    *transfer // list of unused transfers; guarded by mu
}

// transfer is one message in progress: the sender's and the receiver's view.
type transfer struct {
	d    lnd.Delivery
	m    *lnd.Message
	next *transfer // next transfer in the list loNI.free
}

func (*loNI) NID() nid.NID { return nid.Lo0() }

func (ni *loNI) Send(m *lnd.Message) {
	ni.mu.Lock()
	if ni.closed {
		ni.mu.Unlock()
		ni.up.Finalize(m, syscall.ESHUTDOWN)
		return
	}
	ni.queue.Push(m)
	if ni.running {
		ni.mu.Unlock()
		return
	}
	ni.running = true
	ni.deliverQueued()
}

// turn is how many messages a goroutine delivers in a row; then a timer goes on with the others.
const turn = 1 << 10

// deliverQueued delivers the messages of the queue, but no more than the constant turn says; a timer goes
// on with the rest. It is entered with mu held, and releases it.
func (ni *loNI) deliverQueued() {
	for range turn {
		m := ni.queue.Pop()
		if m == nil {
			ni.running = false
			ni.quiet.Broadcast()
			ni.mu.Unlock()
			return
		}
		t := ni.transferFor(m)
		ni.mu.Unlock()
		ni.deliver(t)
		ni.mu.Lock()
	}
	ni.mu.Unlock()
	ni.clock.AfterFunc(0, func() {
		ni.mu.Lock()
		ni.deliverQueued()
	})
}

// transferFor returns a transfer that delivers m, from the free list if there is one. The caller
// holds mu.
func (ni *loNI) transferFor(m *lnd.Message) *transfer {
	t := ni.free
	if t == nil {
		t = new(transfer)
		t.d.Driver = t
	} else {
		ni.free, t.next = t.next, nil
	}
	t.m = m
	t.d.Header = m.Header
	t.d.From = nid.ProcessID{NID: m.Header.SrcNID, PID: m.Header.SrcPID}
	t.d.Incarnation = ni.incarnation
	return t
}

func (ni *loNI) deliver(t *transfer) {
	t.d.ReceivedAt = ni.clock.Now()
	t.m.SentAt = t.d.ReceivedAt
	answer, err := ni.up.Parse(&t.d)
	switch {
	case err != nil:
		ni.up.Finalize(t.m, syscall.EPROTO)
		ni.release(t)
	case answer == lnd.Accept:
		ni.complete(t)
	}
	// If lnet has answered Hold, do not use t any more: another goroutine's Recv may have completed it, and
	// it may already deliver another message.
}

// Recv implements lnd.NI.
func (ni *loNI) Recv(d *lnd.Delivery) { ni.complete(d.Driver.(*transfer)) }

// complete copies the payload and ends both sides. The receiver's event comes
// before the sender's, except for a GET, whose SEND event precedes the REPLY
// (LNet lo.c lolnd_recv).
func (ni *loNI) complete(t *transfer) {
	lnd.Copy(t.d.Sink, t.m.Payload)
	if t.m.Header.Type == wire.Get {
		ni.up.Finalize(t.m, nil)
		ni.up.Delivered(&t.d, nil)
	} else {
		ni.up.Delivered(&t.d, nil)
		ni.up.Finalize(t.m, nil)
	}
	ni.release(t)
}

func (ni *loNI) release(t *transfer) {
	t.m, t.d.Owner, t.d.Sink = nil, nil, lnd.Payload{}
	ni.mu.Lock()
	t.next, ni.free = ni.free, t
	ni.mu.Unlock()
}

// Shutdown implements lnd.NI. Queued messages are still delivered. lnet has to give up held
// deliveries before it calls Shutdown.
func (ni *loNI) Shutdown(context.Context) error {
	ni.mu.Lock()
	defer ni.mu.Unlock()
	ni.closed = true
	for ni.running {
		ni.quiet.Wait()
	}
	return nil
}
