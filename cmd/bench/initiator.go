package main

import (
	"cmp"
	"context"
	"time"

	"ulnet/lnd"
	"ulnet/lnet/nid"
	"ulnet/portals"
)

// initiator is the node of this process, which starts the exchanges that are measured.
type initiator struct {
	*node
	target nid.ProcessID
	sized  []portals.MDHandle // MDs without events, one for each size in the table sizes
	urgent portals.MDHandle   // MD of 8 bytes whose PUTs have priority
	eq     *portals.EQ        // queue for the events of replies to small PUTs
	put    portals.MDHandle   // MD of 1 MiB for streams of PUTs
	get    portals.MDHandle
	bulk   *portals.EQ

	// left counts the replies that are still expected. During a run, only the handler of replies
	// uses it.
	left   int
	done   chan error
	passed chan struct{} // receives a value for each reply with bitsChannel in its match bits, from the handler of such replies
}

// initiate makes the node n the initiator, and connects it to the target.
func (n *node) initiate(ctx context.Context, target nid.ProcessID) *initiator {
	i := &initiator{node: n, target: target, done: make(chan error, 1), passed: make(chan struct{}, 1)}
	i.eq, i.bulk = must(n.table.NewEQ(64)), must(n.table.NewEQ(64*window))
	i.sized, i.urgent = n.bindSizes(), n.bindUrgent()
	i.put, i.get = n.bind(bulk, nil, i.bulk), n.bind(bulk, nil, i.bulk)
	memory := []lnd.Segment{make([]byte, smallSize)}
	n.post(portalReply, portals.Match{Bits: bitsUrgent}, portals.MD{Segments: memory, Options: portals.OpPut, Handler: i.replied})
	n.postSizes(portalReply, i.eq, i.replied, func(*portals.Event) { i.passed <- struct{}{} })
	must(i.pingPong(ctx, bitsEQ, 1))
	return i
}

// ask sends a PUT that is answered by a PUT. The match bits select the size and the kind of
// handling at both sides.
func (i *initiator) ask(bits uint64) error {
	md := i.urgent
	if bits != bitsUrgent {
		md = i.sized[bits&bitsSize]
	}
	return i.table.Put(portals.PutRequest{
		Self: i.id.NID, MD: md, Target: i.target, Portal: portalEcho, MatchBits: bits,
	})
}

// pingPong exchanges a PUT n times. The match bits select the size, and how both sides wait.
func (i *initiator) pingPong(ctx context.Context, bits uint64, n int) (time.Duration, error) {
	switch bits &^ bitsSize {
	case bitsEQ:
		return i.pingWaiting(bits, n, func() error { return i.waitEQ(ctx) })
	case bitsChannel:
		return i.pingWaiting(bits, n, func() error { return i.waitChannel(ctx) })
	}
	return i.ping(ctx, bits, n)
}

// ping exchanges a PUT with these match bits n times between handlers.
func (i *initiator) ping(ctx context.Context, bits uint64, n int) (time.Duration, error) {
	i.left = n
	began := time.Now()
	if err := i.ask(bits); err != nil {
		return 0, err
	}
	select {
	case err := <-i.done:
		return time.Since(began), err
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// replied is the handler of replies.
func (i *initiator) replied(e *portals.Event) {
	if i.left--; i.left == 0 {
		i.done <- nil
		return
	}
	if err := i.ask(e.MatchBits); err != nil {
		i.done <- err
	}
}

// pingWaiting exchanges a PUT n times between goroutines, each of which waits for every message.
func (i *initiator) pingWaiting(bits uint64, n int, wait func() error) (time.Duration, error) {
	began := time.Now()
	for range n {
		if err := i.ask(bits); err != nil {
			return 0, err
		}
		if err := wait(); err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}

func (i *initiator) waitEQ(ctx context.Context) error {
	e, err := i.eq.Wait(ctx)
	return cmp.Or(err, e.Err)
}

func (i *initiator) waitChannel(ctx context.Context) error {
	select {
	case <-i.passed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// putStream sends 1 MiB n times, with at most window PUTs that have no SEND event yet, and waits
// for the ACK of the last one.
func (i *initiator) putStream(ctx context.Context, n, window int) (time.Duration, error) {
	began := time.Now()
	for sent, left := 0, 0; left < n+1; { // this waits for n SEND events and one ACK
		for ; sent < n && sent-left < window; sent++ {
			err := i.table.Put(portals.PutRequest{
				Self: i.id.NID, MD: i.put, Ack: sent == n-1, Target: i.target, Portal: portalSink,
			})
			if err != nil {
				return 0, err
			}
		}
		e, err := i.bulk.Wait(ctx)
		if err != nil || e.Err != nil {
			return 0, cmp.Or(err, e.Err)
		}
		left++
	}
	return time.Since(began), nil
}

// getStream fetches 1 MiB n times, with at most window GETs in flight.
func (i *initiator) getStream(ctx context.Context, n, window int) (time.Duration, error) {
	began := time.Now()
	asked, got, left := 0, 0, 0
	for left < n || got < n { // this waits for n SEND and n REPLY events
		for ; asked < n && asked-got < window; asked++ {
			err := i.table.Get(portals.GetRequest{
				Self: i.id.NID, MD: i.get, Target: i.target, Portal: portalSource,
			})
			if err != nil {
				return 0, err
			}
		}
		e, err := i.bulk.Wait(ctx)
		switch {
		case err != nil || e.Err != nil:
			return 0, cmp.Or(err, e.Err)
		case e.Kind == portals.EventReply:
			got++
		default:
			left++
		}
	}
	return time.Since(began), nil
}
