package main

import (
	"context"
	"math/rand/v2"
	"sync"
	"syscall"
	"time"

	"ulnet/lnd"
	"ulnet/portals"
)

// inFlight is how many operations a worker has under way at most.
const inFlight = 48

// longestAbort is how long after its start an operation is given up at most,
// of those that are.
const longestAbort = 2 * time.Second

// slotRest is how long a slot rests when nobody knows whether what was sent
// there still comes. It is longer than any message can linger.
const slotRest = patience

// traffic starts operations. Its goroutine is the only one that chooses; the
// handlers of the operations end them.
type traffic struct {
	w      *worker
	random *rand.Rand
	tokens chan struct{} // one for each operation under way
	next   uint32        // Seq

	mu    sync.Mutex
	open  map[uint32]*operation // guarded by mu, like all below
	free  [][]byte              // buffers of maxSize, for operations
	slots map[slot]time.Time    // in use until then; no entry: free
}

// slot is a place in the memory of a worker.
type slot struct {
	Target uint8
	Index  int
}

// operation is one PUT or GET from its start to its last event.
type operation struct {
	t      *traffic
	id     opID
	kind   opKind
	target uint8
	buffer []byte // of maxSize
	size   int
	at     uint64 // of a GET: where in the source
	slot   *slot
	began  time.Time

	// Guarded by t.mu.
	abortAt time.Time // to be given up then; zero: never
	aborted bool
	late    bool // and a violation
	md      portals.MDHandle

	// Of its handler.
	settled bool // answered
	failed  bool // not sent
}

func newTraffic(w *worker) *traffic {
	t := &traffic{
		w: w, tokens: make(chan struct{}, inFlight), open: make(map[uint32]*operation), slots: make(map[slot]time.Time),
		random: rand.New(rand.NewPCG(w.cfg.Seed, uint64(w.cfg.Worker)<<16|uint64(w.cfg.Life))),
	}
	for range inFlight {
		t.free = append(t.free, make([]byte, maxSize))
	}
	return t
}

// run starts operations until ctx ends and returns when none is under way.
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
		t.tokens <- struct{}{} // all of them back
	}
	stopSweeping()
	sweeper.Wait()
}

// choose invents an operation.
func (t *traffic) choose() *operation {
	target := t.random.IntN(len(t.w.cfg.Addresses) - 1)
	if target >= int(t.w.cfg.Worker) {
		target++
	}
	o := &operation{
		t: t, id: opID{t.w.cfg.Worker, t.w.cfg.Life, t.next}, target: uint8(target),
		kind: opKind(t.random.IntN(int(opKinds))), size: t.size(), began: time.Now(),
	}
	t.next++
	if t.w.cfg.Abort && t.random.IntN(50) == 0 {
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

// size is often small, sometimes 0, and 1 MiB at most.
func (t *traffic) size() int {
	limits := []int{1, 256, 4096, 4096, 64 << 10, 64 << 10, maxSize}
	limit := limits[t.random.IntN(len(limits))]
	if t.random.IntN(20) == 0 {
		return limit // the limits themselves
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
	t.mu.Lock()
	o.md = handle
	t.mu.Unlock()
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
}

// put chooses where a PUT goes.
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
			t.slots[s] = time.Now().Add(24 * time.Hour) // until it is over
			return &s
		}
	}
	return nil
}

// segments splits memory at random places.
func (t *traffic) segments(b []byte) []lnd.Segment {
	at := 0
	var places []int
	for t.random.IntN(3) == 0 && at < len(b) {
		at += 1 + t.random.IntN(len(b)-at)
		places = append(places, at)
	}
	return cut(b, places...)
}

// handle notes the events of the operation's MD.
func (o *operation) handle(e *portals.Event) {
	r := record{Op: o.kind, Target: o.target, ID: o.id, Size: e.MLength, Errno: errnoOf(e.Err)}
	switch e.Kind {
	case portals.EventSend:
		r.Kind = sent
		o.t.w.journal.add(r)
		o.failed = e.Err != nil
		if o.failed && !e.Unlinked {
			_ = o.t.w.node.Table().MDUnlink(o.md) // ENOENT: has just gone
		}
	case portals.EventAck, portals.EventReply:
		r.Kind = answered
		if e.Kind == portals.EventReply && e.Err == nil {
			o.t.w.compare("GET "+o.id.String(), e.Payload(), sourceKey(o.target), o.at)
		}
		o.t.w.journal.add(r)
		o.settled = e.Err == nil
	}
	if e.Unlinked {
		r.Kind, r.Errno = ended, 0
		if e.Kind == portals.EventUnlink {
			r.Errno = o.unlinked()
		}
		o.t.w.journal.add(r)
		o.t.end(o)
	}
}

// unlinked returns why the last event is an UNLINK. If we did not ask for it,
// LNet gave up, and the event does not say so.
func (o *operation) unlinked() syscall.Errno {
	if o.failed || o.t.aborted(o) {
		return 0
	}
	if age := time.Since(o.began); age < transactionTimeout {
		o.t.w.violation("operation %v was unlinked by LNet after %v", o.id, age)
	}
	return syscall.ETIMEDOUT
}

func (t *traffic) aborted(o *operation) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return o.aborted
}

// end takes back what the operation had.
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

// sweep gives up what is to be given up. What does not end in time is a
// violation.
func (t *traffic) sweep(ctx context.Context) {
	ticker := time.NewTicker(sweepInterval)
	defer ticker.Stop()
	for {
		select {
		case now := <-ticker.C:
			for _, md := range t.due(now) {
				_ = t.w.node.Table().MDUnlink(md) // ENOENT: has just gone
			}
		case <-ctx.Done():
			return
		}
	}
}

const sweepInterval = 20 * time.Millisecond

// due returns the MDs of the operations that are to be given up.
func (t *traffic) due(now time.Time) []portals.MDHandle {
	t.mu.Lock()
	defer t.mu.Unlock()
	var due []portals.MDHandle
	for _, o := range t.open {
		if age := now.Sub(o.began); age > patience && !o.late {
			t.w.violation("operation %v (%v of %d bytes to worker %d) has no last event after %v", o.id, o.kind, o.size, o.target, age)
			o.late = true
		}
		if o.md != 0 && !o.abortAt.IsZero() && now.After(o.abortAt) {
			due = append(due, o.md)
			o.abortAt, o.aborted = time.Time{}, true
		}
	}
	return due
}
