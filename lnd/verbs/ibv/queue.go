//go:build ibverbs && cgo && linux

package ibv

/*
#include <stdlib.h>
#include "glue.h"
*/
import "C"

import (
	"fmt"
	"os"
	"sync"
	"time"
	"unsafe"

	"ulnet/lnd/verbs"
)

const (
	// pollBatch is how many completions are taken at once.
	pollBatch = 32
	// mostPending is how many completions may wait for their upcall.
	mostPending = 8 * pollBatch
)

// queue is a completion queue (verbs.CQ) and the goroutine that makes its upcalls.
type queue struct {
	dev     *device
	done    func([]verbs.Completion)
	cq      *C.struct_ibv_cq
	channel *C.struct_ibv_comp_channel
	arrived *os.File // becomes readable when the device has notified

	batch []verbs.Completion // completions whose upcall the goroutine is making

	polling sync.Mutex         // guards list and pending; held while the device is polled
	list    []C.struct_ibv_wc  // memory of C that ibv_poll_cq fills
	pending []verbs.Completion // completions that wait for their upcall

	mu     sync.Mutex // guards all fields below
	change sync.Cond
	tasks  []func()      // functions for the goroutine to call, after the upcalls of all that has completed; see do
	pools  map[*pool]int // by pool: number of queue pairs that complete receives here
	size   int           // number of completions that the device's queue holds
	need   int           // largest number of completions that may be in the queue at once
	pairs  int           // number of queue pairs that complete here
	closed bool
	ended  bool // whether the goroutine has to stop
	// harvested: there may be completions without an upcall for which no notification comes.
	harvested bool
}

// NewCQ makes a completion queue (verbs.Device).
func (d *device) NewCQ(depth int, done func(batch []verbs.Completion)) (verbs.CQ, error) {
	if depth < 1 || uint64(depth) > uint64(d.limit.max_completions) {
		return nil, fmt.Errorf("a completion queue for %d work requests, the device takes 1 to %d", depth, d.limit.max_completions)
	}
	q := &queue{dev: d, done: done, size: depth, pools: map[*pool]int{}, batch: make([]verbs.Completion, 0, pollBatch)}
	q.change.L = &q.mu
	err := use(d, d.cqs, q, func() error {
		if err := q.open(depth); err != nil {
			q.free()
			return err
		}
		d.queues.Go(q.run)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return q, nil
}

// open makes what a queue has at the device; free undoes it, also if open failed halfway.
func (q *queue) open(depth int) error {
	q.list = unsafe.Slice((*C.struct_ibv_wc)(C.calloc(pollBatch, C.sizeof_struct_ibv_wc)), pollBatch)
	if rc := C.ulnet_create_channel(q.dev.context, &q.channel); rc != 0 {
		q.channel = nil
		return makeError("make a completion channel", errno(rc))
	}
	var err error
	if q.arrived, err = pollable(int(q.channel.fd), "ibv_comp"); err != nil {
		return err
	}
	if rc := C.ulnet_create_cq(q.dev.context, C.int(depth), q.channel, &q.cq); rc != 0 {
		q.cq = nil
		return makeError("make a completion queue", errno(rc))
	}
	q.size = int(q.cq.cqe)
	return nil
}

func (q *queue) free() {
	q.polling.Lock() // waits until a harvest for a queue pair that has just ended is over
	defer q.polling.Unlock()
	if q.cq != nil {
		if rc := C.ibv_destroy_cq(q.cq); rc != 0 {
			q.dev.log.Error("free a completion queue", "err", errno(-max(rc, -rc)))
		}
	}
	if q.arrived != nil {
		_ = q.arrived.Close()
	}
	if q.channel != nil {
		C.ibv_destroy_comp_channel(q.channel)
	}
	C.free(unsafe.Pointer(unsafe.SliceData(q.list)))
	q.list = nil
}

// Close ends the queue (verbs.CQ). It waits for queue pairs that are being closed.
func (q *queue) Close() error {
	open := q.dev.openPairs(q)
	q.mu.Lock()
	defer q.mu.Unlock()
	if open != 0 {
		return fmt.Errorf("a completion queue closes with %d queue pairs: close them before", open)
	}
	q.closed = true
	for q.pairs != 0 {
		q.change.Wait()
	}
	if !q.ended {
		q.ended = true
		q.wake()
	}
	for q.list != nil {
		q.change.Wait()
	}
	return nil
}

// enter counts a queue pair, and makes room for as many completions as it may have. These are
// the completions of its work requests, or of the buffers of its pool, which all queue pairs of
// the pool share. If a queue overflows, the device fails for ever.
func (q *queue) enter(sends int, p *pool) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return verbs.ErrClosed
	}
	need := sends
	if p != nil && q.pools[p] == 0 {
		need += p.cfg.Buffers
	}
	if want := q.need + need; want > q.size {
		if uint64(want) > uint64(q.dev.limit.max_completions) {
			return fmt.Errorf("a completion queue for %d work requests, the device takes %d: use more queues",
				want, q.dev.limit.max_completions)
		}
		if rc := C.ulnet_resize_cq(q.cq, C.int(want)); rc != 0 {
			return makeError("make a completion queue longer", errno(rc))
		}
		q.size = int(q.cq.cqe)
	}
	q.need += need
	q.pairs++
	if p != nil {
		q.pools[p]++
	}
	return nil
}

func (q *queue) leave(sends int, p *pool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.need -= sends
	q.pairs--
	if p != nil {
		if q.pools[p]--; q.pools[p] == 0 {
			q.need -= p.cfg.Buffers
			delete(q.pools, p)
		}
	}
	q.change.Broadcast()
}

// do makes the queue's goroutine run f after the upcalls of all that has completed. The goroutine
// runs, because the caller has a queue pair that uses the queue.
func (q *queue) do(f func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.tasks = append(q.tasks, f)
	q.wake()
}

// wake ends a wait of the goroutine; the caller holds mu.
func (q *queue) wake() { _ = q.arrived.SetReadDeadline(time.Unix(1, 0)) }
