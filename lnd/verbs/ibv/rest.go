//go:build ibverbs && cgo && linux

package ibv

/*
#include "glue.h"
*/
import "C"

import "ulnet/lnd/verbs"

// The end of a queue pair: it is in error state, and nothing is posted any more. When all
// posted work requests have completed it lingers. Then the goroutine of its receives takes
// the remaining completions and destroys it, and the goroutine of its work requests releases
// everything. If a device does not flush, its queue pair is destroyed after flushTimeout.

// shut begins the end of the queue pair. When the queue pair has been destroyed, the goroutine of
// the receives' queue calls gone, with the device's lock held. The function gone must destroy the id.
func (q *queuePair) shut(gone func()) {
	q.mu.Lock()
	q.closed = true
	started := q.ready
	q.end = gone
	q.mu.Unlock()
	if !started {
		q.beginEnd()
		return
	}
	late := q.dev.cfg.Clock.AfterFunc(flushTimeout, q.beginEnd)
	q.mu.Lock()
	q.late = late
	atRest := q.atRest()
	q.mu.Unlock()
	if atRest {
		q.linger()
	}
}

// atRest reports whether the queue pair ends and all its work requests have completed. The
// caller holds mu.
func (q *queuePair) atRest() bool { return q.end != nil && q.ring.length() == 0 }

// linger lets a queue pair that is at rest linger: it begins the end of the queue pair after the
// time linger, until which the device completes receives.
func (q *queuePair) linger() { q.dev.cfg.Clock.AfterFunc(linger, q.beginEnd) }

// beginEnd starts the end of the queue pair, once.
func (q *queuePair) beginEnd() {
	q.mu.Lock()
	begun := q.ending
	q.ending = true
	if q.late != nil {
		q.late.Stop()
	}
	q.mu.Unlock()
	if !begun {
		q.after(q.destroyNow)
	}
}

// after makes the goroutine of the receives' queue run f, after the upcalls of all that has
// completed there and in the work requests' queue. Calls keep their order.
func (q *queuePair) after(f func()) {
	if q.sends == q.recvs {
		q.recvs.do(f)
		return
	}
	q.sends.do(func() { q.recvs.do(f) })
}

// destroyNow destroys the queue pair. It runs in the goroutine of the receives' queue.
func (q *queuePair) destroyNow() {
	q.dev.cm.Lock()
	q.destroy()
	q.end()
	q.id = nil
	q.dev.cm.Unlock()
	q.sends.do(q.releaseAll)
}

// releaseAll completes the work requests that are left as flushed, and releases what the queue
// pair has used. It runs in the goroutine of the work requests' queue. The device will complete
// nothing more.
func (q *queuePair) releaseAll() {
	q.mu.Lock()
	q.ring.settle(q.ring.head, verbs.Flushed)
	q.mu.Unlock()
	q.tellSettled()
	q.leave()
	q.dev.pairs.Done()
}

// tellSettled makes the upcalls of the work requests that complete without the device, in the
// goroutine of the work requests' queue.
func (q *queuePair) tellSettled() {
	s := q.sends
	s.polling.Lock()
	q.mu.Lock()
	s.pending = q.ring.sweep(q.qpn, s.pending)
	q.mu.Unlock()
	s.polling.Unlock()
	s.poll()
}
