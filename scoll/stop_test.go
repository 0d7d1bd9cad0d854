package scoll_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ulnet/scoll"
)

// TestStopAmid: agents stop while broadcasts are under way: no callback runs when
// Stop has returned, and the others end by their time-outs, with those who have
// stopped named.
func TestStopAmid(t *testing.T) {
	const n, stopped = 5, 2
	var over atomic.Bool // Stop of node 2 has returned
	w := newWires(t, n, scoll.AgentConfig{Config: scoll.Config{RTT: 50 * time.Millisecond}})
	for _, d := range w.nodes {
		called := func() {
			if d.id == stopped && over.Load() {
				t.Error("a callback after Stop")
			}
		}
		s := summing(8)
		pre, incoming, reply, post := s.PreRequest, s.IncomingRequest, s.IncomingReply, s.PostReply
		s.PreRequest = func(r *scoll.Request) error { called(); return pre(r) }
		s.IncomingRequest = func(r *scoll.Request) error { called(); return incoming(r) }
		s.IncomingReply = func(p *scoll.Reply) { called(); reply(p) }
		s.PostReply = func(r *scoll.Request) { called(); post(r) }
		if err := d.agent.RegisterService(s); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	var stop sync.Once
	var missing atomic.Int64
	for root := range n {
		if root == stopped {
			continue
		}
		g := w.group(root, scoll.Tree{Type: scoll.KAry, K: 2})
		wg.Go(func() {
			for range 3000 {
				sum, unreached := send(t, g, scoll.RequestConfig{Payload: []byte("x")})
				stop.Do(func() {
					wg.Go(func() {
						w.nodes[stopped].agent.Stop()
						over.Store(true)
					})
				})
				if unreached > 0 {
					missing.Add(1)
					return
				}
				if sum != n {
					t.Errorf("root %d: sum %d, nobody unreached", root, sum)
				}
			}
		})
	}
	wg.Wait()
	if missing.Load() != n-1 {
		t.Errorf("%d of %d roots have missed somebody", missing.Load(), n-1)
	}
}
