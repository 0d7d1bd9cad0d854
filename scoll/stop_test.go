package scoll_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/simlnd"
	"ulnet/scoll"
)

// TestStopAmid: agents are closed while broadcasts are under way. No callback runs after Close
// has returned, and the broadcasts of the other agents end by their timeouts, with the nodes of the
// closed agents unreached.
func TestStopAmid(t *testing.T) {
	const n, stopped = 5, 2
	var over atomic.Bool // node 2's Close has returned
	w := newWires(t, n, scoll.Config{RTT: 50 * time.Millisecond})
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
						closeAgent(t, w.nodes[stopped].agent)
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

// TestStopAmidFetch: SC-35: a closed agent stops fetching bulk data and lists of members.
func TestStopAmidFetch(t *testing.T) {
	spec.Covers(t, "SC-35")
	s := newStacksAt(t, 2, 1_000_000_000, func(_ int, cfg *scoll.Config) { cfg.MaxPayload = 64 << 10 })
	k := s.nodes[1]
	g := s.group(0, false, scoll.Tree{})
	s.fabric.Do(0, func(*simlnd.Host) {
		r, err := g.NewRequest(scoll.RequestConfig{Bulk: [][]byte{make([]byte, 8<<20)}, Processing: time.Second})
		if err == nil {
			_ = s.nodes[0].post(r)
			err = r.Send()
		}
		if err != nil {
			t.Error(err)
		}
	})
	sent := func() uint64 { return k.table.Node().Snapshot().Stats.SendCount }
	for range 1000 {
		if s.run(100 * time.Microsecond); sent() > 10 {
			break
		}
	}
	closeAgent(t, k.agent)
	before := sent()
	if s.run(time.Second); before < 10 || before > 100 || sent() != before {
		t.Errorf("%d messages sent before Stop, %d after", before, sent()-before)
	}
}

// TestCloseWaits: Close waits for a callback that blocks until its context ends, and waits again
// when it is called again.
func TestCloseWaits(t *testing.T) {
	w := newWires(t, 2, scoll.Config{})
	running, end := make(chan struct{}), make(chan struct{})
	for _, d := range w.nodes {
		s := summing(8)
		if d.id == 1 {
			s.IncomingRequest = func(*scoll.Request) error {
				close(running)
				<-end
				return nil
			}
		}
		if err := d.agent.RegisterService(s); err != nil {
			t.Fatal(err)
		}
	}
	g := w.group(0, scoll.Tree{})
	var root sync.WaitGroup
	root.Go(func() { send(t, g, scoll.RequestConfig{Payload: []byte("x")}) })
	<-running
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range 2 {
		if err := w.nodes[1].agent.Close(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("a callback runs, and Close says %v", err)
		}
	}
	closed := make(chan error)
	go func() { closed <- w.nodes[1].agent.Close(t.Context()) }()
	select {
	case err := <-closed:
		t.Errorf("closed while a callback runs: %v", err)
	default:
	}
	close(end)
	if err := <-closed; err != nil {
		t.Error(err)
	}
	root.Wait()
}

// TestCloseBesideClose: while one call of Close waits until answers are sent, another call
// returns when its own context ends.
func TestCloseBesideClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWires(t, 2, scoll.Config{RTT: time.Second})
		asked, end := make(chan struct{}), make(chan struct{})
		w.handle(func(id int) scoll.Handler {
			return scoll.Handler{Answer: func(context.Context, *scoll.Question) ([]byte, error) {
				if id == 1 {
					close(asked)
					<-end
				}
				return nil, nil
			}}
		})
		var others sync.WaitGroup
		defer others.Wait()
		others.Go(func() { _, _ = w.ask(t.Context(), 0, scoll.Tree{}, scoll.CallConfig{}) })
		<-asked
		others.Go(func() { closeAgent(t, w.nodes[1].agent) })
		synctest.Wait()
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		if err := w.nodes[1].agent.Close(ended); !errors.Is(err, context.Canceled) || time.Since(began) > 0 {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		close(end)
	})
}
