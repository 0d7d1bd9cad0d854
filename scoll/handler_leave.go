package scoll

import (
	"context"
	"sync"
	"time"
)

// leaveTime bounds how long Close waits until answers of handlers were sent.
const leaveTime = time.Second

// openAnswers counts the questions of other nodes that this node has not answered yet, so that
// Close loses no answer. The zero value is ready.
type openAnswers struct {
	mu    sync.Mutex
	count int           // guarded by mu, like all below
	none  chan struct{} // made by wait: no question is taken any more; closed at count 0
}

// add counts one more question, unless the agent stops.
func (o *openAnswers) add() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.none != nil {
		return false
	}
	o.count++
	return true
}

// done subtracts a question whose answer was sent, or will never be sent.
func (o *openAnswers) done() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.count--; o.count == 0 && o.none != nil {
		close(o.none)
	}
}

// wait returns when all questions have been answered, or leaveTime or ctx is over. It uses
// the real clock, because in a simulation its caller may be the goroutine that moves the
// virtual clock.
func (o *openAnswers) wait(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, leaveTime)
	defer cancel()
	o.mu.Lock()
	o.none = make(chan struct{})
	over := o.count == 0
	o.mu.Unlock()
	if over {
		return
	}
	select {
	case <-o.none:
	case <-ctx.Done():
	}
}
