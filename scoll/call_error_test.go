package scoll_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/nid"
	"ulnet/scoll"
)

// TestCallContextErrors: if a handler returns the error of its context, the member's status
// matches that error.
func TestCallContextErrors(t *testing.T) {
	spec.Covers(t, "SC-166")
	errs := []error{context.DeadlineExceeded, context.Canceled, fmt.Errorf("%w: %w", scoll.EBUSY, context.Canceled), errors.New("disk sdb is gone")}
	want := []scoll.Status{scoll.ETIMEDOUT, scoll.ECANCELED, scoll.EBUSY, scoll.EIO}
	w := newWires(t, len(errs), scoll.Config{RTT: time.Minute})
	w.handle(func(id int) scoll.Handler {
		return scoll.Handler{Inline: true, Answer: func(context.Context, *scoll.Question) ([]byte, error) { return nil, errs[id] }}
	})
	r, err := w.ask(t.Context(), 0, scoll.Tree{}, scoll.CallConfig{})
	if err != nil || len(r.Failed) != len(errs) {
		t.Fatalf("%+v, %v", r, err)
	}
	for i, f := range r.Failed {
		if f.Status != want[i] || f.Text != errs[i].Error() {
			t.Errorf("%v: %v, %q", errs[i], f.Status, f.Text)
		}
	}
}

// TestNewGroupErrors: the errors of NewGroup say what to change.
func TestNewGroupErrors(t *testing.T) {
	w := newWires(t, 3, scoll.Config{})
	a := w.nodes[0].agent
	_, err := a.NewGroup(t.Context(), handled, wireNID(0), wireNID(1))
	if want := "scoll: service 11 is not registered on this node: Handle it first: no such service"; !errors.Is(err, scoll.ENOSERVICE) || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	w.handle(func(int) scoll.Handler {
		return scoll.Handler{Answer: func(context.Context, *scoll.Question) ([]byte, error) { return nil, nil }}
	})
	_, err = a.NewGroup(t.Context(), handled, wireNID(1), wireNID(2))
	if want := "scoll: this node, " + wireNID(0).String() + ", is not among the members: invalid"; !errors.Is(err, scoll.EINVAL) || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestCallLost: members below a dead one are unreached as well. The error names the members
// that failed and those that were not reached.
func TestCallLost(t *testing.T) {
	spec.Covers(t, "SC-166")
	s := newStacks(t, 8, func(int, *scoll.Config) {})
	for id, k := range s.nodes {
		err := k.agent.Handle(handled, scoll.Handler{Inline: true, Answer: func(context.Context, *scoll.Question) ([]byte, error) {
			if id == 2 {
				return nil, errors.New("disk sdb is gone")
			}
			return nil, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	s.fabric.Crash(4)
	var end func() (*scoll.Result, error, bool)
	s.fabric.Do(0, func(*simlnd.Host) {
		s.nodes[0].agent.CreateGroup(scoll.GroupConfig{Service: handled, Members: s.members, Done: func(g *scoll.Group, err error) {
			if err == nil {
				end, err = g.Begin(t.Context(), scoll.CallConfig{}, false)
			}
			if err != nil {
				t.Fatal(err)
			}
		}})
	})
	s.run(time.Minute)
	r, err, ended := end()
	if !ended || err != nil || r.Answered != 3 || len(r.Unreached) != 4 {
		t.Fatalf("%v, %+v, %v", ended, r, err)
	}
	above := nid.NID{}
	for i, u := range r.Unreached {
		if u.Rank != 4+i || u.NID != simlnd.NID(sim.NodeID(u.Rank)) || u.Below != above {
			t.Errorf("%+v", u)
		}
		above = simlnd.NID(4)
	}
	want := fmt.Sprintf("scoll: 1 of 8 failed, 4 were not reached: rank 2, %v: disk sdb is gone; rank 4, %v: timed out; rank 5, %v: below %v: timed out; and 2 more",
		simlnd.NID(2), simlnd.NID(4), simlnd.NID(5), simlnd.NID(4))
	if err := r.Err(); err.Error() != want || !errors.Is(err, scoll.ETIMEDOUT) || !errors.Is(err, scoll.EIO) {
		t.Errorf("%v, want\n%s", err, want)
	}
	if got := (scoll.Lost{Unreached: scoll.Unreached{NID: simlnd.NID(1), Status: scoll.EIO}, Rank: 1}).Error(); got != "rank 1, "+simlnd.NID(1).String()+": cannot be sent to" {
		t.Error(got)
	}
}

// TestCallWithin: a handler that is not Inline may itself make a call.
func TestCallWithin(t *testing.T) {
	w := newWires(t, 3, scoll.Config{RTT: time.Second})
	w.handle(func(id int) scoll.Handler {
		return scoll.Handler{Merge: sumOfTwo, Answer: func(ctx context.Context, q *scoll.Question) ([]byte, error) {
			if string(q.Payload) == "ask others" {
				r, err := w.ask(ctx, id, scoll.Tree{}, scoll.CallConfig{})
				if err != nil {
					return nil, err
				}
				return r.Answer, nil
			}
			return number(1), nil
		}}
	})
	r, err := w.ask(t.Context(), 0, scoll.Tree{}, scoll.CallConfig{Payload: []byte("ask others")})
	if err != nil || r.Err() != nil || string(r.Answer) != string(number(9)) {
		t.Errorf("%+v, %v", r, err)
	}
}
