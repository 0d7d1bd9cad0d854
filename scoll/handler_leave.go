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
	count int           // number of open answers; guarded by mu, like all below
	none  chan struct{} // made by wait, after which no question is accepted; closed when count is 0
}

// add counts one more question. If the agent is stopping, it returns false and the question is not accepted.
func (o *openAnswers) add() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.none != nil {
		return false
	}
	o.count++
	return true
}

// done stops counting a question whose answer was sent, or will never be sent.
func (o *openAnswers) done() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.count--; o.count == 0 && o.none != nil {
		close(o.none)
	}
}

// wait returns when all questions have been answered, or leaveTime or ctx is over. wait uses
// the real clock, because in a simulation its caller may be the goroutine that advances the
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
