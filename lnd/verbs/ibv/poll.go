//go:build ibverbs && cgo && linux

package ibv

/*
#include "glue.h"
*/
import "C"

import (
	"time"
	"unsafe"
)

// run polls for completions until the queue is closed.
func (q *queue) run() {
	rc, err := q.arrived.SyscallConn()
	notified := func(uintptr) bool {
		rc := C.ulnet_wakeup(q.channel)
		if rc != 0 && rc != -C.EAGAIN {
			q.dev.log.Error("notification of completions", "err", errno(rc))
		}
		return rc == 0
	}
	for err == nil && q.turn() {
		// From now on the device notifies of completions; those that have come already are polled.
		if rc := C.ulnet_arm(q.cq); rc != 0 {
			q.dev.log.Error("arm a completion queue", "err", errno(rc))
		}
		if q.poll() || q.waiting() {
			continue
		}
		_ = rc.Read(notified)
		_ = q.arrived.SetReadDeadline(time.Time{})
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.free()
	drop(q.dev, q.dev.cqs, q)
	q.change.Broadcast()
}

// waiting reports whether something waits that the goroutine of the queue has to do.
func (q *queue) waiting() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.tasks) != 0 || q.ended || q.harvested
}

// turn makes the upcalls of the completions that are there. Then it runs the tasks that were queued
// when turn began. It returns false when the queue has ended.
func (q *queue) turn() bool {
	q.mu.Lock()
	tasks, most := q.tasks, q.size
	q.tasks, q.harvested = nil, false
	ended := q.ended
	q.mu.Unlock()
	for n := 0; n <= most && q.poll(); n += pollBatch {
		// The loop takes at most as many completions as the queue can hold now. Later ones need not
		// be waited for: their upcalls may follow the tasks.
	}
	for _, f := range tasks {
		f()
	}
	return !ended
}

// poll makes the upcalls of a batch of completions, and reports whether the device had any.
// Only the goroutine of the queue calls it.
func (q *queue) poll() bool {
	q.polling.Lock()
	found := len(q.pending) != 0 || q.collect()
	q.batch, q.pending = q.pending, q.batch
	q.polling.Unlock()
	if len(q.batch) != 0 {
		q.done(q.batch)
	}
	clear(q.batch)
	q.batch = q.batch[:0]
	return found
}

// collect takes a batch from the device, and reports whether there was any. The caller
// holds polling.
func (q *queue) collect() bool {
	n := int(C.ulnet_poll(q.cq, unsafe.SliceData(q.list), pollBatch))
	if n < 0 {
		q.dev.log.Error("poll a completion queue", "err", errno(C.int(n)))
	}
	for i := range max(n, 0) {
		q.completed(&q.list[i])
	}
	return n > 0
}

// harvest polls completions to make room in a send queue, and leaves their upcalls to the
// goroutine of the queue. The number of completions without an upcall is bounded.
func (q *queue) harvest() {
	q.polling.Lock()
	for q.list != nil && len(q.pending) < mostPending && q.collect() {
		// Each call of collect in the condition takes a batch.
	}
	q.polling.Unlock()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.harvested = true
	q.wake()
}
