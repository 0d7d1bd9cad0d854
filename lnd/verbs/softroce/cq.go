package softroce

import (
	"sync"
	"sync/atomic"

	"ulnet/lnd/verbs"
)

// cq is a completion queue (verbs.CQ): nothing is queued on the normal path. A goroutine
// that has completions claims the queue under the lock of the connection, which puts them in
// order, and makes the upcall without any lock. It also makes the upcalls for completions
// that other goroutines add meanwhile.
type cq struct {
	dev    *device
	depth  int
	done   func([]verbs.Completion)
	posted atomic.Int64 // work requests that may still complete, or whose completion has not been given to the consumer
	most   atomic.Int64 // sum of MaxSends of the queue pairs that complete here

	mu      sync.Mutex // guards all fields below
	idle    sync.Cond
	running bool // whether a goroutine makes upcalls
	waiting []verbs.Completion
	lasts   []lastCall
	spare   []verbs.Completion // memory for the next list in waiting
	sparing []lastCall
}

// lastCall is a connection that is over: its last event follows the completions that were waiting
// when it ended.
type lastCall struct {
	at   int // how many of the completions in waiting come before the last event
	conn *conn
}

var _ verbs.CQ = (*cq)(nil)

func newCQ(dev *device, depth int, done func([]verbs.Completion)) *cq {
	q := &cq{dev: dev, depth: depth, done: done}
	q.idle.L = &q.mu
	return q
}

// enter makes room in the queue for the work requests of one more queue pair; leave undoes it.
// Without that, work requests whose peers do not answer could fill the queue, and the other queue
// pairs could not post.
func (q *cq) enter(maxSends int) { q.most.Add(int64(maxSends)) }

func (q *cq) leave(maxSends int) { q.most.Add(int64(-maxSends)) }

// reserve reserves room for n work requests that are about to be posted. It returns false if there is none.
func (q *cq) reserve(n int) bool {
	if q.posted.Add(int64(n)) <= max(int64(q.depth), q.most.Load()) {
		return true
	}
	q.release(n)
	return false
}

func (q *cq) release(n int) {
	if n != 0 {
		q.posted.Add(int64(-n))
	}
}

// claim reserves the next turn in the queue's order for the upcalls of list and then, if last is
// not nil, for the one that reports the end of that connection. If no goroutine makes upcalls,
// claim returns true: the caller must call run, with the same arguments and without locks. Else
// the goroutine in run makes these upcalls.
func (q *cq) claim(list []verbs.Completion, last *conn) bool {
	if len(list) == 0 && last == nil {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.running {
		q.waiting = append(q.waiting, list...)
		if last != nil {
			q.lasts = append(q.lasts, lastCall{len(q.waiting), last})
		}
		return false
	}
	q.running = true
	return true
}

// maxRounds bounds the rounds of upcalls that one goroutine makes for others. After that many rounds
// it starts a new goroutine, which makes the rest. The first goroutine may be needed elsewhere: it may
// be the one that runs the timers, or a consumer's goroutine that posts. Local policy.
const maxRounds = 64

// run makes the upcalls of what was claimed, and of what other goroutines claim while it runs.
func (q *cq) run(list []verbs.Completion, last *conn) {
	q.upcall(list)
	if last != nil {
		last.over(q)
	}
	if !q.runWaiting(maxRounds) {
		go q.runWaiting(-1)
	}
}

// runWaiting makes the upcalls of waiting completions, in at most the given number of rounds; a
// negative number is no limit. It returns true if nothing waits any more: then the queue is idle.
func (q *cq) runWaiting(rounds int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for ; len(q.waiting) > 0 || len(q.lasts) > 0; rounds-- {
		if rounds == 0 {
			return false
		}
		list, lasts := q.waiting, q.lasts
		q.waiting, q.lasts = q.spare[:0], q.sparing[:0]
		q.mu.Unlock()
		at := 0
		for i := range lasts {
			q.upcall(list[at:lasts[i].at])
			at = lasts[i].at
			lasts[i].conn.over(q)
		}
		q.upcall(list[at:])
		clear(list)
		clear(lasts)
		q.mu.Lock()
		q.spare, q.sparing = list, lasts
	}
	q.running = false
	q.idle.Broadcast()
	return true
}

// upcall hands completions to the consumer, which may post again at once.
func (q *cq) upcall(list []verbs.Completion) {
	if len(list) == 0 {
		return
	}
	n := 0
	for i := range list {
		if list[i].Op != verbs.Receive {
			n++
		}
	}
	q.release(n)
	q.done(list)
}

// Close ends the completion queue (verbs.CQ).
func (q *cq) Close() error {
	q.wait()
	remove(q.dev, q.dev.cqs, q)
	return nil
}

// wait waits until no goroutine makes upcalls.
func (q *cq) wait() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.running {
		q.idle.Wait()
	}
}
