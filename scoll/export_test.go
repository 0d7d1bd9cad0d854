package scoll

import (
	"context"

	"ulnet/portals"
)

// Held returns the number of requests that an agent has, and of lists that it is fetching.
func (a *Agent) Held() (requests, lists int) {
	a.runner.Inspect(func() { requests, lists = len(a.requests), len(a.lists) })
	return requests, lists
}

// Attached returns how many reply buffers of a request are posted to the network.
func (r *Request) Attached() (n int) {
	r.buffers.mu.Lock()
	defer r.buffers.mu.Unlock()
	for _, p := range r.buffers.posts {
		if p.attached {
			n++
		}
	}
	return n
}

// Linked returns how many buffers of a request, of all its attempts, the network may still use.
func (r *Request) Linked() int {
	r.buffers.mu.Lock()
	defer r.buffers.mu.Unlock()
	return r.buffers.linked
}

// Buffers returns how many buffers for requests are posted, and how many there are.
func (a *Agent) Buffers() (posted, all int) {
	return a.inbox.Posted(), a.inbox.Posted() + a.inbox.Spare()
}

// SpoilWords makes the sending of the first n Progress and Hold messages fail.
func (a *Agent) SpoilWords(n int) {
	a.outbox.Open(a.table, portals.OutboxConfig[sending]{Done: func(s sending, err error) {
		if s.progress && n > 0 {
			n--
			err = EIO
		}
		a.sent(s, err)
	}})
}

// Begin starts one attempt of a call. The returned function returns its result, and false while
// there is none.
func (g *Group) Begin(ctx context.Context, cfg CallConfig, live bool) (func() (*Result, error, bool), error) {
	c, err := g.begin(ctx, cfg, live)
	return func() (*Result, error, bool) {
		select {
		case <-c.done:
			return c.result, c.err, true
		default:
			return nil, nil, false
		}
	}, err
}

// IsIdle reports whether no callback is being made.
func (a *Agent) IsIdle() bool {
	a.due.mu.Lock()
	defer a.due.mu.Unlock()
	return a.due.making == 0 && a.due.count.Load() == 0
}
