package scoll_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"ulnet/scoll"
)

// TestCallContextErrors: a handler that returns the error of its context is listed with the
// status of that.
func TestCallContextErrors(t *testing.T) {
	errs := []error{context.DeadlineExceeded, context.Canceled, fmt.Errorf("%w: %w", scoll.EBUSY, context.Canceled), errors.New("disk sdb is gone")}
	want := []scoll.Status{scoll.ETIMEDOUT, scoll.ECANCELED, scoll.EBUSY, scoll.EIO}
	w := newWires(t, len(errs), scoll.AgentConfig{Config: scoll.Config{RTT: time.Second}})
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

// TestNewGroupErrors: they say what to change.
func TestNewGroupErrors(t *testing.T) {
	w := newWires(t, 3, scoll.AgentConfig{})
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
