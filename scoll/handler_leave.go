package scoll

import (
	"context"
	"sync"
	"time"
)

// leaveTime is how long Close waits for answers of handlers to leave, at most.
const leaveTime = time.Second

// openAnswers counts the questions of others that this node has not answered yet, so that an
// agent that stops loses no answer. The zero value is ready.
type openAnswers struct {
	mu    sync.Mutex
	count int           // guarded by mu, like all below
	none  chan struct{} // made by wait: no question is taken any more; closed with the last
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

// done notes that an answer has left, or never will.
func (o *openAnswers) done() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.count--; o.count == 0 && o.none != nil {
		close(o.none)
	}
}

// wait returns when all have been answered, or leaveTime or ctx is over. It is by the real clock:
// who stops an agent in a simulation may be the one who moves the other clock.
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
