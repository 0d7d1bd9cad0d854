package metrics

import (
	"sync"
	"time"
)

// Answers take a token each to be made: so many can come at a time, and then one in each interval.
const (
	answerBurst    = 8
	answerInterval = 250 * time.Millisecond
)

// kept makes answers, and keeps the last one. While there is no token it gives that one to
// all: a flood of requests costs little of the processor, and keeps no other client from
// an answer. One answer at a time is made, so what is given is older than a request by no more
// than answerInterval and the time in which one answer is made.
type kept[T any] struct {
	make func() T // makes an answer; it is not changed afterwards

	mu     sync.Mutex // held while an answer is made
	last   T          // the last answer; guarded by mu
	tokens tokens     // guarded by mu
}

// get returns an answer: a new one if there is a token, or the last one. The first one takes a
// token, so there is a last one.
func (k *kept[T]) get() T {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.tokens.take(time.Now()) {
		k.last = k.make()
	}
	return k.last
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
