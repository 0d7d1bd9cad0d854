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
// still gets an answer. Only one answer is made at a time, so the answer to a request was made at
// most answerInterval, plus the time to make one answer, before the request.
type kept[T any] struct {
	make func() T // makes an answer; it is not changed afterwards

	mu     sync.Mutex // held while an answer is made
	last   T          // the last answer; guarded by mu
	tokens tokens     // guarded by mu
}

// get returns a new answer if there is a token, and otherwise the last one. There is always a last
// one then, because the bucket is full at first.
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
