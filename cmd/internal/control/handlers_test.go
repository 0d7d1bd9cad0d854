package control_test

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/cmd/internal/cli"
	. "ulnet/cmd/internal/control"
	"ulnet/cmd/internal/handlers"
	"ulnet/cmd/internal/node"
)

type fakeHandlers struct{ list []handlers.Status }

func (f *fakeHandlers) Handlers() []handlers.Status { return f.list }

func (f *fakeHandlers) TestHandler(_ context.Context, h node.HandlerName) (handlers.Run, error) {
	if h.Name != "h" {
		return handlers.Run{}, cli.Hint(syscall.ENOENT, "there is h")
	}
	return *f.list[0].Last, nil
}

func (f *fakeHandlers) routes() []Route {
	return []Route{node.OpHandlers.Do(Told(f.Handlers)), node.OpTestHandler.Do(f.TestHandler)}
}

// TestHandlers: the state of handlers and the result of a run arrive unchanged, and errors
// arrive with their hints.
func TestHandlers(t *testing.T) {
	f := &fakeHandlers{list: []handlers.Status{{
		Name: "h", On: []string{"zone.left"}, Program: []string{"/bin/p", "-x"}, User: "nobody", TimeoutMS: 30_000, IntervalMS: 1000,
		Running: true, Waiting: 2, Runs: 7, Failures: 3, TimedOut: 1, Events: 99, Missed: 5, Problem: "no such file",
		Last: &handlers.Run{Began: time.Unix(1_700_000_000, 0).UTC(), TookMS: 8, Events: 4, Missed: 5, Exit: -15, TimeOver: true, Output: "o", Cut: true, Error: "e"},
	}}}
	d := serve(t, Config{Routes: f.routes()})
	c := NewClient(d.path)
	got, err := node.OpHandlers.Call(t.Context(), c, None{})
	if diff := cmp.Diff(f.list, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	r, err := node.OpTestHandler.Call(t.Context(), c, node.HandlerName{Name: "h"})
	if diff := cmp.Diff(*f.list[0].Last, r); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if _, err := node.OpTestHandler.Call(t.Context(), c, node.HandlerName{Name: "g"}); !errors.Is(err, syscall.ENOENT) || cli.HintOf(err) == "" {
		t.Errorf("%v, hint %q", err, cli.HintOf(err))
	}
}
