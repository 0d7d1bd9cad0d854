package main

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"ulnet/lnd"
	"ulnet/portals"
)

// inFlight bounds the number of operations in flight of a worker.
const inFlight = 48

// longestAbort bounds the time from the start of an operation to its abort, for the few operations
// that a worker aborts at random.
const longestAbort = 2 * time.Second

// slotRest is how long a slot stays unused after a PUT whose outcome is unknown. It is longer
// than a message can be delayed.
const slotRest = patience

// traffic starts operations. One goroutine draws and starts them; their handlers end them.
type traffic struct {
	w      *worker
	random *rand.Rand
	tokens chan struct{} // has a token for each operation in flight
	calm   atomic.Bool   // no operation is aborted any more
	next   uint32        // sequence number of the next operation

	mu    sync.Mutex
	open  map[uint32]*operation // operations in flight; guarded by mu, as all below
	free  [][]byte              // free buffers of maxSize bytes
	slots map[slot]time.Time    // time until which each slot is in use; no entry: it is free
}

// slot identifies a slot in the memory of a worker.
type slot struct {
	Target uint8
	Index  int
}

func newTraffic(w *worker) *traffic {
	t := &traffic{
		w: w, tokens: make(chan struct{}, inFlight), open: make(map[uint32]*operation), slots: make(map[slot]time.Time),
		random: rand.New(rand.NewPCG(w.cfg.Seed, uint64(w.cfg.Worker)<<16|uint64(w.cfg.Incarnation))),
	}
	for range inFlight {
		t.free = append(t.free, make([]byte, maxSize))
	}
	return t
}

// run starts operations until ctx ends, and returns when none is in flight any more.
func (t *traffic) run(ctx context.Context) {
	pause := time.NewTicker(time.Second / time.Duration(t.w.cfg.Rate))
	defer pause.Stop()
	swept, stopSweeping := context.WithCancel(context.Background())
	var sweeper sync.WaitGroup
	sweeper.Go(func() { t.sweep(swept) })
	for ctx.Err() == nil {
		select {
		case <-pause.C:
		case <-ctx.Done():
			continue
		}
		select {
		case t.tokens <- struct{}{}:
			t.start(t.choose())
		case <-ctx.Done():
		}
	}
	for range inFlight {
		t.tokens <- struct{}{} // blocks until the operations in flight have returned all tokens
	}
	stopSweeping()
	sweeper.Wait()
}

// choose draws an operation.
func (t *traffic) choose() *operation {
	target := t.random.IntN(len(t.w.cfg.Names) - 1)
	if target >= int(t.w.cfg.Worker) {
		target++
	}
	o := &operation{
		t: t, id: opID{t.w.cfg.Worker, t.w.cfg.Incarnation, t.next}, target: uint8(target),
		kind: opKind(t.random.IntN(int(opKinds))), size: t.size(), began: time.Now(),
	}
	t.next++
	if t.w.cfg.Abort && !t.calm.Load() && t.random.IntN(50) == 0 {
		o.abortAt = o.began.Add(between(t.random, 0, longestAbort))
	}
	if o.kind == opGet {
		o.at = uint64(t.random.IntN(sourceSize - o.size + 1))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	o.buffer = t.free[len(t.free)-1]
	t.free = t.free[:len(t.free)-1]
	t.open[o.id.Seq] = o
	return o
}

// size returns a random size that is often small, sometimes 0, and at most 1 MiB.
func (t *traffic) size() int {
	limits := []int{1, 256, 4096, 4096, 64 << 10, 64 << 10, maxSize}
	limit := limits[t.random.IntN(len(limits))]
	if t.random.IntN(20) == 0 {
		return limit // the size is exactly the limit
	}
	return t.random.IntN(limit)
}

func (t *traffic) start(o *operation) {
	md := portals.MD{
		Segments: t.segments(o.buffer[:o.size]), Threshold: 2, Handler: o.handle,
	}
	if o.kind == opPut {
		md.Threshold = 1
	}
	if t.random.IntN(10) == 0 {
		md.Options |= portals.Priority
	}
	table := t.w.node.Table()
	t.w.journal.add(record{Kind: started, Op: o.kind, Target: o.target, ID: o.id, Size: uint32(o.size)})
	handle, err := table.MDBind(md, portals.Unlink)
	if err != nil {
		t.w.violation("operation %v: %v", o.id, err)
		return
	}
	o.md = handle
	if o.kind == opGet {
		err = table.Get(portals.GetRequest{
			MD: handle, Target: t.w.id(o.target), Portal: portalSource, MatchBits: o.id.bits(), Offset: uint32(o.at),
		})
	} else {
		fill(o.buffer[:o.size], putKey(o.id, o.size), 0)
		err = table.Put(t.put(o))
	}
	if err != nil {
		t.w.violation("operation %v: %v", o.id, err)
	}
	t.mu.Lock()
	o.called = true
	t.mu.Unlock()
}

// put chooses the target memory of a PUT at random.
func (t *traffic) put(o *operation) portals.PutRequest {
	r := portals.PutRequest{
		MD: o.md, Ack: o.kind == opPutAck, Target: t.w.id(o.target), Portal: portalBuffers,
		MatchBits: t.random.Uint64(), HdrData: o.id.bits(),
	}
	switch way := t.random.IntN(3); {
	case way == 0 && o.size <= maxRingSize:
		r.Portal = portalRing
	case way == 1 && o.size <= maxSlotSize:
		if o.slot = t.takeSlot(o.target); o.slot != nil {
			r.Portal, r.MatchBits = portalSlots, slotBits(o.id)
			r.Offset = uint32(o.slot.Index*slotSize + t.random.IntN(slotSize-o.size))
		}
	}
	return r
}

func (t *traffic) takeSlot(target uint8) *slot {
	t.mu.Lock()
	defer t.mu.Unlock()
	first := t.random.IntN(slots)
	for i := range slots {
		s := slot{target, (first + i) % slots}
		if until, used := t.slots[s]; !used || time.Now().After(until) {
			t.slots[s] = time.Now().Add(24 * time.Hour) // longer than the operation, whose end frees the slot or sets another time
			return &s
		}
	}
	return nil
}

// segments splits memory into segments at random offsets.
func (t *traffic) segments(b []byte) []lnd.Segment {
	at := 0
	var offsets []int
	for t.random.IntN(3) == 0 && at < len(b) {
		at += 1 + t.random.IntN(len(b)-at)
		offsets = append(offsets, at)
	}
	return cut(b, offsets...)
}

func (t *traffic) aborted(o *operation) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return o.aborted
}

// end frees the resources of the operation.
func (t *traffic) end(o *operation) {
	t.mu.Lock()
	delete(t.open, o.id.Seq)
	t.free = append(t.free, o.buffer)
	if o.slot != nil {
		if o.settled {
			delete(t.slots, *o.slot)
		} else {
			t.slots[*o.slot] = time.Now().Add(slotRest)
		}
	}
	t.mu.Unlock()
	<-t.tokens
}
