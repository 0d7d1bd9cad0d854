package main

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"ulnet/portals"
)

// streams is the number of PUTs of 1 MiB that are kept in flight to a peer. besideStreams is the
// number of round trips that a round measures during these PUTs.
const (
	streams       = 8
	besideStreams = 200
)

// load keeps PUTs of 1 MiB in flight. Their number is the constant streams, which is twice the
// number of credits.
type load struct {
	*initiator
	md      portals.MDHandle
	stop    atomic.Bool
	running atomic.Int64
	idle    chan error
}

func (i *initiator) startLoad() *load {
	l := &load{initiator: i, idle: make(chan error, 1)}
	l.md = i.bind(bulk, l.event, nil)
	l.running.Store(2 * streams)
	for range 2 * streams {
		succeed(l.put())
	}
	return l
}

func (l *load) put() error {
	return l.table.Put(portals.PutRequest{Self: l.id.NID, MD: l.md, Target: l.target, Portal: portalSink})
}

// event sends the next PUT when the SEND event of a PUT arrives.
func (l *load) event(e *portals.Event) {
	if e.Kind == portals.EventUnlink {
		return
	}
	err := e.Err
	if err == nil && !l.stop.Load() {
		if err = l.put(); err == nil {
			return
		}
	}
	if l.running.Add(-1) == 0 {
		l.idle <- err
	}
}

// end waits until the last PUT has been sent.
func (l *load) end(ctx context.Context) error {
	l.stop.Store(true)
	select {
	case err := <-l.idle:
		return cmp.Or(err, l.table.MDUnlink(l.md))
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// beside exchanges a PUT n times while PUTs of 1 MiB are in flight.
func (i *initiator) beside(ctx context.Context, bits uint64, n int) (time.Duration, error) {
	l := i.startLoad()
	took, err := i.ping(ctx, bits, n)
	return took, cmp.Or(err, l.end(ctx))
}

// measurePriority compares PUTs of 8 B with and without priority, while streams to the same peer
// use all credits. No goal bounds it.
func measurePriority(b *measurement) {
	idle := b.timed("on an idle node", besideStreams, func() (time.Duration, error) { return b.node.ping(b.ctx, bitsUrgent, besideStreams) })
	urgent := b.timed("priority", besideStreams, func() (time.Duration, error) { return b.node.beside(b.ctx, bitsUrgent, besideStreams) })
	normal := b.timed("normal", besideStreams/10, func() (time.Duration, error) { return b.node.beside(b.ctx, bitsHandler, besideStreams/10) })
	b.alternate(b.rounds, idle, urgent, normal)
	l := urgent.against(normal, "8 B priority PUT beside 8 saturating streams, round trip, to a normal one", 0.5, 0.5)
	l.basis += fmt.Sprintf(", %s %.0f µs", idle.name, median(idle.each(0.5))/1e3)
	b.add(l)
}
