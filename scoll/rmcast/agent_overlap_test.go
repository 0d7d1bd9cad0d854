package rmcast_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/machine"
	"ulnet/scoll/rmcast"
)

// TestHandlerOverlap: RM-33: the handler of a message sends further messages, which fill the
// window anew. The message that the handler reads, and those queued behind it, stay
// unchanged.
func TestHandlerOverlap(t *testing.T) {
	spec.Covers(t, "RM-33")
	for _, n := range []int{1, 4} {
		t.Run(fmt.Sprint(n, " members"), func(t *testing.T) {
			var got []string
			var g *rmcast.Group
			results := 0
			r := newRingOn(t, n, ringClock{machine.RealClock()}, func(id int, cfg *rmcast.GroupConfig) {
				if id > 0 {
					return
				}
				cfg.Handle = func(m *rmcast.Message) {
					if len(got) == 0 {
						for i := range 20 { // 20 messages are five windows
							g.Post(fmt.Append(nil, "message ", i), func(rmcast.Result, error) { results++ })
						}
					}
					got = append(got, string(m.Data))
				}
			})
			g = r.ends[0].group
			if _, err := g.Send(t.Context(), []byte("begin")); err != nil {
				t.Fatal(err)
			}
			if results != 20 || len(got) < 2 || got[0] != "begin" {
				t.Errorf("%d results, got %q", results, got)
			}
			for i, text := range got[1:] {
				if want := fmt.Sprint("message ", i); text != want {
					t.Errorf("got %q, want %q", text, want)
				}
			}
		})
	}
}

// TestSlowHandler: RM-33: the handler of the sender's node is still reading a message when
// later messages have used every slot of the window again. The message stays unchanged.
func TestSlowHandler(t *testing.T) {
	spec.Covers(t, "RM-33")
	var g *rmcast.Group
	var r *ring
	var got []string
	r = newRingOn(t, 2, ringClock{machine.RealClock()}, func(id int, cfg *rmcast.GroupConfig) {
		if id > 0 {
			return
		}
		cfg.Handle = func(m *rmcast.Message) {
			if len(got) == 0 {
				r.running = false
				r.resume() // the acknowledgement arrives while this handler runs
				for i := range 4 {
					g.Post(fmt.Append(nil, "later", i), func(rmcast.Result, error) {})
				}
			}
			got = append(got, string(m.Data))
		}
	})
	g = r.ends[0].group
	r.running = true
	g.Post([]byte("first"), func(rmcast.Result, error) {})
	r.running = false
	r.resume()
	if len(got) != 5 || got[0] != "first" {
		t.Errorf("%q", got)
	}
}

// TestPostAnswered: RM-31: every Post gets one outcome, even if this node leaves the group
// while the message is in flight, or has left it before the Post.
func TestPostAnswered(t *testing.T) {
	spec.Covers(t, "RM-31")
	r := newStillRing(t, 3)
	g := r.ends[1].group
	r.running = true // the network holds all messages back
	var answers []error
	post := func() { g.Post([]byte("x"), func(_ rmcast.Result, err error) { answers = append(answers, err) }) }
	post()
	post()
	if len(answers) != 0 {
		t.Fatal(answers)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := g.Leave(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	post()
	if len(answers) != 3 {
		t.Fatalf("%d answers: %v", len(answers), answers)
	}
	for _, err := range answers {
		if !errors.Is(err, rmcast.ErrClosed) {
			t.Error(err)
		}
	}
	r.running = false
	r.resume()
	if len(answers) != 3 {
		t.Errorf("answered again: %v", answers)
	}
}

// TestStopTold: RM-28: a closed agent tells the managers that it has ended, so messages do not
// wait for it, although its node is still up.
func TestStopTold(t *testing.T) {
	spec.Covers(t, "RM-28")
	r := newStillRing(t, 3)
	_ = r.ends[2].agent.Close(t.Context())
	if m, _ := r.ends[0].agent.Managed(group); len(m.Members) != 2 {
		t.Errorf("%+v", m)
	}
	released := 0
	r.ends[0].group.Post([]byte("x"), func(_ rmcast.Result, err error) {
		if released++; err != nil {
			t.Error(err)
		}
	})
	if released != 1 || r.ends[1].got != 1 {
		t.Errorf("released %d, got %d", released, r.ends[1].got)
	}
}
