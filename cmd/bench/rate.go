package main

import (
	"context"
	"sync/atomic"
	"time"

	"ulnet/lnd"
	"ulnet/portals"
)

// G-LN-4 sends small messages at the highest rate. The plain program sends records of the same
// size, recordsPerWrite per write.
const (
	rateCount       = 300_000
	rateOpen        = 4096 // bound of the PUTs whose SEND event has not come
	recordsPerWrite = 819
	rawWrites       = 4000
)

// manyCredits are the tunables of G-LN-4.
var manyCredits = lnd.Tunables{PeerCredits: 256, Credits: 256}

// flood sends small PUTs, with at most rateOpen without their SEND event.
type flood struct {
	*initiator
	md      portals.MDHandle
	ended   atomic.Int64 // number of SEND events of this run
	waiting atomic.Bool
	room    chan struct{}
	acked   chan error
}

func newFlood(i *initiator) (*flood, error) {
	f := &flood{initiator: i, room: make(chan struct{}, 1), acked: make(chan error, 1)}
	md, err := i.bind(smallSize, f.event, nil)
	f.md = md
	return f, err
}

func (f *flood) event(e *portals.Event) {
	if e.Kind == portals.EventAck || e.Err != nil {
		select {
		case f.acked <- e.Err:
		default: // keep the earlier error
		}
		return
	}
	f.ended.Add(1)
	if f.waiting.Load() && f.waiting.Swap(false) {
		f.room <- struct{}{}
	}
}

// run sends n PUTs and waits for the ACK of the last one.
func (f *flood) run(ctx context.Context, n int) (time.Duration, error) {
	f.ended.Store(0)
	began := time.Now()
	for sent := range n {
		if err := f.await(ctx, int64(sent-rateOpen)); err != nil {
			return 0, err
		}
		err := f.table.Put(portals.PutRequest{
			Self: f.id.NID, MD: f.md, Ack: sent == n-1, Target: f.target, Portal: portalSink,
		})
		if err != nil {
			return 0, err
		}
	}
	select {
	case err := <-f.acked:
		return time.Since(began), firstError(err, f.await(ctx, int64(n)))
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// await waits until n SEND events have arrived.
func (f *flood) await(ctx context.Context, n int64) error {
	for f.ended.Load() < n {
		f.waiting.Store(true)
		if f.ended.Load() >= n && f.waiting.Swap(false) {
			return nil
		}
		select {
		case <-f.room:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// measureRate measures goal G-LN-4.
func measureRate(b *measurement) {
	writes, count := b.some(rawWrites), b.some(rateCount)
	raw := b.timed("raw", writes*recordsPerWrite, func() (time.Duration, error) { return b.raw.put(smallSize*recordsPerWrite, writes) })
	puts := b.timed("PUT", count, func() (time.Duration, error) { return b.flood.run(b.ctx, count) })
	b.alternate(b.rounds, raw, puts)
	b.add(puts.speed(raw, "8 B PUTs a second, one way, many open", 0.12, 1e3, "%.2f M/s"))
}
