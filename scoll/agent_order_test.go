package scoll_test

import (
	"sync/atomic"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/machine"
	"ulnet/scoll"
)

// countingClock counts how often timers are set.
type countingClock struct {
	machine.Clock
	set atomic.Int64
}

func (c *countingClock) AfterFunc(d time.Duration, f func()) machine.Timer {
	c.set.Add(1)
	return countingTimer{c.Clock.AfterFunc(d, f), c}
}

type countingTimer struct {
	machine.Timer
	clock *countingClock
}

func (t countingTimer) Reset(d time.Duration) bool {
	t.clock.set.Add(1)
	return t.Timer.(interface{ Reset(time.Duration) bool }).Reset(d)
}

// orderly makes a ring of n nodes. The function broadcast that it returns sends a broadcast from
// the first node. The services are Inline; each node's IncomingRequest calls incoming with the id of
// the node.
func orderly(t *testing.T, n int, incoming func(id int, r *scoll.Request)) (r *ring, broadcast func() *scoll.Request) {
	post := func(r *scoll.Request) error { return postSums(r, 8) }
	ids := map[string]int{}
	r = newRing(t, n, scoll.Service{
		ID: service, Inline: true, PreRequest: post,
		IncomingRequest: func(q *scoll.Request) error {
			incoming(ids[q.NID().String()], q)
			return nil
		},
		PostReply: func(q *scoll.Request) {
			if !q.Root() {
				_ = q.Reply(nil)
			}
		},
	})
	for _, e := range r.ends {
		ids[e.NID().String()] = e.id
	}
	group := r.group(t)
	return r, func() *scoll.Request {
		q, err := group.NewRequest(scoll.RequestConfig{Payload: make([]byte, 100)})
		if err == nil {
			err = post(q)
		}
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
}

func (r *ring) finish(t *testing.T, q *scoll.Request) {
	t.Helper()
	if err := q.Send(); err != nil {
		t.Fatal(err)
	}
	for len(r.work) > 0 {
		f := r.work[0]
		r.work = r.work[1:]
		f()
	}
}

// TestForwardFirst: SC-152: the reply buffers of all children are posted before the first
// message to a child leaves, and all these messages have left before the service of this member
// runs the request.
func TestForwardFirst(t *testing.T) {
	spec.Covers(t, "SC-152")
	sent, early, ran := make([]int, 8), 0, 0
	r, broadcast := orderly(t, 8, func(id int, q *scoll.Request) {
		if ran++; sent[id] < q.Children() {
			early++
		}
	})
	q := broadcast()
	first := 0
	r.sending = func(from int) {
		if sent[from]++; from == 0 && sent[0] == 1 {
			first = q.Attached()
		}
	}
	r.finish(t, q)
	if first != 3 || q.Children() != 3 {
		t.Errorf("%d of %d reply buffers are posted when the first message leaves", first, q.Children())
	}
	if early != 0 || ran != 8 {
		t.Errorf("%d services have run, %d of them before all messages to children had left", ran, early)
	}
}

// TestTimersOfBroadcasts: a broadcast sets no timer, neither for itself nor for each child. The
// agent has one timer, which stays set when a broadcast ends before its deadline.
func TestTimersOfBroadcasts(t *testing.T) {
	r, broadcast := orderly(t, 8, func(int, *scoll.Request) {})
	r.finish(t, broadcast())
	before := r.clock.set.Load()
	for range 100 {
		r.finish(t, broadcast())
	}
	if set := r.clock.set.Load() - before; set > 8 {
		t.Errorf("100 broadcasts to 8 members set %d timers", set)
	}
}
