package main

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"ulnet/lnd"
	"ulnet/lnet/nid"
	"ulnet/portals"
)

// For goal G-LN-4, LNet sends small messages at the highest rate. The plain program sends
// records of the same size, recordsPerWrite of them with each write.
const (
	rateCount       = 300_000
	bareCount       = 1_000_000
	rateOpen        = 4096 // largest number of PUTs whose SEND event has not come yet
	recordsPerWrite = 819
	rawWrites       = 4000
)

// manyCredits are the tunables that goal G-LN-4 is measured with.
var manyCredits = lnd.Tunables{PeerCredits: 256, Credits: 256}

// flood sends small PUTs. At any time, at most rateOpen of them have no SEND event yet.
type flood struct {
	*node
	target  nid.ProcessID
	md      portals.MDHandle
	all     bool         // true: each PUT of this run asks for an ACK; false: only the last one
	ended   atomic.Int64 // number of SEND events of this run, and of ACKs if all want one
	waiting atomic.Bool
	room    chan struct{}
	acked   chan error // receives the error of the run, or nil after the ACK of the last PUT if only that PUT wants an ACK
}

func newFlood(n *node, target nid.ProcessID) *flood {
	f := &flood{node: n, target: target, room: make(chan struct{}, 1), acked: make(chan error, 1)}
	f.md = n.bind(smallSize, f.event, nil)
	return f
}

func (f *flood) event(e *portals.Event) {
	if e.Err != nil || e.Kind == portals.EventAck && !f.all {
		select {
		case f.acked <- e.Err:
		default: // the error that came first is kept
		}
		return
	}
	f.ended.Add(1)
	if f.waiting.Load() && f.waiting.Swap(false) {
		f.room <- struct{}{}
	}
}

// run sends n PUTs, and waits for the ACK of the last one, or for the ACKs of all if all is
// true.
func (f *flood) run(ctx context.Context, n int, all bool) (time.Duration, error) {
	f.ended.Store(0)
	f.all = all
	events := int64(1) // number of events of each PUT
	if all {
		events = 2
	}
	began := time.Now()
	for sent := range n {
		if err := f.await(ctx, events*int64(sent-rateOpen)); err != nil {
			return 0, err
		}
		err := f.table.Put(portals.PutRequest{
			Self: f.id.NID, MD: f.md, Ack: all || sent == n-1, Target: f.target, Portal: portalSink,
		})
		if err != nil {
			return 0, err
		}
	}
	if all {
		err := f.await(ctx, events*int64(n))
		return time.Since(began), err
	}
	select {
	case err := <-f.acked:
		return time.Since(began), cmp.Or(err, f.await(ctx, int64(n)))
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// await waits until n events have arrived.
func (f *flood) await(ctx context.Context, n int64) error {
	for f.ended.Load() < n {
		f.waiting.Store(true)
		if f.ended.Load() >= n && f.waiting.Swap(false) {
			return nil
		}
		select {
		case <-f.room:
		case err := <-f.acked:
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// measureRate measures goal G-LN-4: once with SEND events only, and once with an ACK of each
// PUT.
func measureRate(b *measurement) {
	count, acked, most := b.some(rateCount), b.some(rateCount/3), b.some(bareCount)
	bare := b.timed("bare loop", most, func() (time.Duration, error) { return b.bare.flood(most) })
	puts := b.timed("PUT", count, func() (time.Duration, error) { return b.flood.run(b.ctx, count, false) })
	acks := b.timed("PUT with ACK", acked, func() (time.Duration, error) { return b.flood.run(b.ctx, acked, true) })
	b.alternate(b.rounds, bare, puts, acks)
	b.add(
		puts.speed(bare, "8 B PUTs a second, one way, many open", 0.30, 1e3, "%.2f M/s"),
		acks.speed(bare, "8 B PUTs a second with an ACK each, many open", 0.10, 1e3, "%.2f M/s"),
	)
}
