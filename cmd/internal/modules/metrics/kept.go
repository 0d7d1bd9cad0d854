package metrics

import (
	"sync"
	"time"
)

// The token bucket for making answers: answerBurst answers can be made at once, and after that one
// per answerInterval.
const (
	answerBurst    = 8
	answerInterval = 250 * time.Millisecond
)

// kept makes answers, each of which takes a token, and keeps the last one. While there is no token,
// every request gets the last answer, so a flood of requests costs little CPU time and every client
// still gets an answer. Only one answer is made at a time, and all requests that come meanwhile
// wait for it, so the answer to a request was made at most answerInterval before the request.
type kept[T any] struct {
	make  func() T      // makes an answer; it is not changed afterwards
	limit time.Duration // how long a request waits for an answer that is being made

	mu     sync.Mutex
	last   T             // the last answer; guarded by mu, like the fields below
	made   chan struct{} // closed when the answer that is being made is there; nil: none is being made
	tokens tokens
}

// get returns a new answer if there is a token, and otherwise the last one. There is always a last
// one then, because the bucket is full at first. ok is false if the answer is not made within limit,
// for example because another goroutine keeps a lock that make takes; the next answer begins only
// when this one is made.
func (k *kept[T]) get() (last T, ok bool) {
	if made := k.begin(); made != nil {
		late := time.NewTimer(k.limit)
		defer late.Stop()
		select {
		case <-made:
		case <-late.C:
			return last, false
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.last, true
}

// begin begins to make an answer if none is being made and there is a token. It returns a channel
// that is closed when the answer is there, or nil.
func (k *kept[T]) begin() <-chan struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.made == nil && k.tokens.take(time.Now()) {
		k.made = make(chan struct{})
		go k.run()
	}
	return k.made
}

func (k *kept[T]) run() {
	answer := k.make()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.last = answer
	close(k.made)
	k.made = nil
}

// tokens is a token bucket, which is full at first.
type tokens struct {
	full time.Time // when the bucket will be full
}

// take takes a token, and reports whether there was one.
func (t *tokens) take(now time.Time) bool {
	full := t.full
	if full.Before(now) {
		full = now
	}
	if full = full.Add(answerInterval); full.Sub(now) > answerBurst*answerInterval {
		return false
	}
	t.full = full
	return true
}
