package scoll_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/scoll"
)

// meeting makes callbacks wait for each other, for a minute at most.
type meeting struct {
	t    *testing.T
	want int32
	here atomic.Int32
	all  chan struct{}
	once sync.Once
}

func newMeeting(t *testing.T, want int32) *meeting {
	return &meeting{t: t, want: want, all: make(chan struct{})}
}

func (m *meeting) arrive(who string) {
	if m.here.Add(1) == m.want {
		m.once.Do(func() { close(m.all) })
	}
	select {
	case <-m.all:
	case <-time.After(60 * time.Second):
		m.t.Errorf("%s is alone", who)
	}
}

// TestReentrant: SC-49 and SC-A30: two replies are delivered together, and both callbacks run
// at the same time as incoming-request. SC-50: post-reply is called when all of these have
// returned.
func TestReentrant(t *testing.T) {
	spec.Covers(t, "SC-49", "SC-50", "SC-A30")
	meet, done := newMeeting(t, 3), make(chan int, 1)
	var inside atomic.Int32
	w := newWires(t, 3, scoll.Config{RTT: time.Minute})
	for _, d := range w.nodes {
		err := d.agent.RegisterService(scoll.Service{
			ID:         9,
			PreRequest: func(r *scoll.Request) error { return postSums(r, 8) },
			IncomingRequest: func(r *scoll.Request) error {
				if r.Root() {
					meet.arrive("incoming-request")
				}
				return nil
			},
			IncomingReply: func(p *scoll.Reply) {
				inside.Add(1)
				meet.arrive("incoming-reply of " + p.Request.ChildNID(p.Child).String())
				inside.Add(-1)
			},
			PostReply: func(r *scoll.Request) {
				if !r.Root() {
					_ = r.Reply(make([]byte, 8))
					return
				}
				if n := inside.Load(); n != 0 {
					t.Errorf("post-reply while %d calls of incoming-reply are inside", n)
				}
				done <- len(r.Unreached())
			},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	r, err := w.group(0, scoll.Tree{Type: scoll.KAry, K: 2}).NewRequest(scoll.RequestConfig{})
	if err == nil {
		err = postSums(r, 8)
	}
	if err == nil {
		err = r.Send()
	}
	if err != nil {
		t.Fatal(err)
	}
	if unreached := <-done; unreached != 0 {
		t.Errorf("%d unreached", unreached)
	}
}

// TestRequestsMeet: SC-42, SC-A30: callbacks of different requests run at the same time: as
// many pre-request callbacks as there are roots.
func TestRequestsMeet(t *testing.T) {
	spec.Covers(t, "SC-42", "SC-A30")
	const n = 4
	meet, done := newMeeting(t, n-1), make(chan struct{}, n)
	w := newWires(t, n, scoll.Config{RTT: time.Minute})
	for _, d := range w.nodes {
		err := d.agent.RegisterService(scoll.Service{
			ID: 9,
			PreRequest: func(r *scoll.Request) error {
				if d.id == 0 {
					meet.arrive("pre-request")
				}
				return postSums(r, 8)
			},
			IncomingRequest: func(*scoll.Request) error { return nil },
			PostReply: func(r *scoll.Request) {
				if r.Root() {
					done <- struct{}{}
					return
				}
				_ = r.Reply(nil)
			},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for root := 1; root < n; root++ {
		r, err := w.group(root, scoll.Tree{Type: scoll.KAry, K: n}).NewRequest(scoll.RequestConfig{})
		if err == nil {
			_ = postSums(r, 8)
			err = r.Send()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for range n - 1 {
		<-done
	}
}
