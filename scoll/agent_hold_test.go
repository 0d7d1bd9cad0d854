package scoll_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/scoll"
)

// TestHolding: SC-3, SC-A30: eight roots broadcast at once to members that run two requests of
// other nodes at a time. All members run all requests, those of one root in their order, and no
// member is unreached. With keys, Hold messages are signed.
func TestHolding(t *testing.T) {
	spec.Covers(t, "SC-3", "SC-A30")
	effort.OneGoroutine(t)
	const each = 60
	for name, letters := range map[string]string{"without keys": "", "with keys": "a"} {
		t.Run(name, func(t *testing.T) {
			s := newStacks(t, 8, func(_ int, cfg *scoll.Config) {
				cfg.MaxActive = 2
				if letters != "" {
					cfg.Keys = keys(t, letters)
				}
			})
			for root := range s.nodes {
				g := s.group(root, true, scoll.Tree{})
				s.fabric.Do(sim.NodeID(root), func(*simlnd.Host) {
					for i := range each {
						r, err := g.NewRequest(scoll.RequestConfig{Payload: fmt.Appendf(nil, "%d.%03d", root, i)})
						if err == nil {
							_ = s.nodes[root].post(r)
							err = r.Send()
						}
						if err != nil {
							t.Fatal(err)
						}
					}
				})
			}
			s.run(30 * time.Second)
			held := uint64(0)
			for _, k := range s.nodes {
				if len(k.done) != each || len(k.ran) != 8*each {
					t.Errorf("node %d: %d done, %d ran", k.id, len(k.done), len(k.ran))
				}
				for _, o := range k.done {
					if len(o.unreached) > 0 {
						t.Fatalf("node %d: unreached %v", k.id, o.unreached)
					}
				}
				last := map[string]string{}
				for _, payload := range k.ran {
					root, _, _ := strings.Cut(payload, ".")
					if payload < last[root] {
						t.Fatalf("node %d ran %s after %s", k.id, payload, last[root])
					}
					last[root] = payload
				}
				counts := k.agent.Stats()
				if held += counts.Held; counts.Unsigned+counts.Malformed+counts.Stray+counts.TimedOut > 0 {
					t.Errorf("node %d: %+v", k.id, counts)
				}
			}
			if held == 0 {
				t.Error("no request was held")
			}
		})
	}
}

// TestSendTakesSlot: after Send has returned nil the root runs the request and PostReply is
// called, however many goroutines send at the same time.
func TestSendTakesSlot(t *testing.T) {
	const n, senders, each = 4, 8, 50
	w := newWires(t, n, scoll.Config{RTT: time.Minute, MaxActive: 4, Worker: func(f func()) { go f() }})
	for _, d := range w.nodes {
		if err := d.agent.RegisterService(summing(8)); err != nil {
			t.Fatal(err)
		}
	}
	g := w.group(0, scoll.Tree{})
	var wg sync.WaitGroup
	for range senders {
		wg.Go(func() {
			var sent []*scoll.Request
			for range each { // all requests are created before one is sent, so that the check of NewRequest is out of date at Send
				r, err := g.NewRequest(scoll.RequestConfig{})
				if err != nil {
					t.Error(err)
					return
				}
				r.Data = &tally{done: make(chan *scoll.Request, 1)}
				_ = postSums(r, 8)
				sent = append(sent, r)
			}
			for _, r := range sent {
				if err := r.Send(); err != nil {
					t.Error(err)
					return
				}
			}
			for _, r := range sent {
				c := r.Data.(*tally)
				if <-c.done; r.Status() != scoll.OK || c.total() != n || len(r.Unreached()) > 0 {
					t.Errorf("sum %d, %v, unreached %v", c.total(), r.Status(), r.Unreached())
				}
			}
		})
	}
	wg.Wait()
}

// TestAbortedUnsent: SC-72: Abort ends a broadcast that waits for a slot: no member gets the
// request, the root does not run it, and Status returns ECANCELED. Agent.Latency does not count it.
func TestAbortedUnsent(t *testing.T) {
	spec.Covers(t, "SC-72", "OP-91")
	s := newStacks(t, 4, nil)
	g := s.group(0, true, scoll.Tree{})
	const all = 100
	var last *scoll.Request
	s.fabric.Do(0, func(*simlnd.Host) {
		for i := range all {
			r, err := g.NewRequest(scoll.RequestConfig{Payload: []byte{byte(i)}})
			if err == nil {
				_ = s.nodes[0].post(r)
				err = r.Send()
			}
			if last = r; err != nil {
				t.Fatal(err)
			}
		}
		last.Abort()
	})
	s.run(time.Second)
	canceled := 0
	for _, o := range s.nodes[0].done {
		if o.status == scoll.ECANCELED {
			if canceled++; len(o.unreached) != 3 {
				t.Errorf("unreached %v", o.unreached)
			}
		}
	}
	if len(s.nodes[0].done) != all || canceled != 1 {
		t.Errorf("%d done, %d canceled", len(s.nodes[0].done), canceled)
	}
	if got := s.nodes[0].agent.Latency(); got.Count() != all-1 {
		t.Errorf("%d broadcasts were timed, want %d", got.Count(), all-1)
	}
	for _, k := range s.nodes {
		if len(k.ran) != all-1 {
			t.Errorf("node %d ran %d", k.id, len(k.ran))
		}
	}
}

// TestUntoldParent: SC-A22: a Hold message tells the parent that a request is no longer held.
// If it cannot be sent, it is sent again.
func TestUntoldParent(t *testing.T) {
	spec.Covers(t, "SC-A22")
	s := newStacks(t, 3, func(_ int, cfg *scoll.Config) { cfg.MaxActive = 1 })
	silent := scoll.Service{
		ID: 9, PreRequest: postStatuses, IncomingRequest: func(*scoll.Request) error { return nil }, PostReply: func(*scoll.Request) {},
	}
	for root, processing := range []time.Duration{200 * time.Millisecond, 10 * time.Second, 0} {
		if err := s.nodes[root].agent.RegisterService(silent); err != nil {
			t.Fatal(err)
		}
		if root == 2 {
			continue
		}
		members, err := scoll.NewMembership([]scoll.Target{s.members.Target(root), s.members.Target(2)})
		if err != nil {
			t.Fatal(err)
		}
		s.fabric.At(s.fabric.Now()+time.Duration(root+1)*time.Millisecond, func() {
			s.fabric.Do(sim.NodeID(root), func(*simlnd.Host) {
				s.nodes[root].agent.CreateGroup(scoll.GroupConfig{Service: 9, Members: members, Done: func(g *scoll.Group, _ error) {
					r, err := g.NewRequest(scoll.RequestConfig{Processing: processing})
					if err == nil {
						_ = postStatuses(r)
						err = r.Send()
					}
					if err != nil {
						t.Error(err)
					}
				}})
			})
		})
	}
	s.run(100 * time.Millisecond)
	s.fabric.Kill(1)
	s.run(5 * time.Second)
	if c := s.nodes[2].agent.Stats(); c.Held != 1 || c.Unsent != 1 {
		t.Errorf("%d held, %d words not sent, %d tried again", c.Held, c.Unsent, c.Retries)
	}
}
