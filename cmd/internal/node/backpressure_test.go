package node_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"ulnet/cmd/internal/node"
)

// TestSlowSinkLosesNothing: a sink stops taking messages while a sender sends more than there
// are buffers. The sender has to wait, and no message is lost.
func TestSlowSinkLosesNothing(t *testing.T) {
	const messages = 100
	n := newNode(t)
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	ready, still, taken := make(chan bool), make(chan bool), make(chan error, 1)
	go func() {
		var came int
		taken <- n.Sink(ctx, node.SinkRequest{Portal: 4, Size: 1, Count: messages}, func(s node.Step) error {
			if s.Ready {
				ready <- true
				return nil
			}
			came++
			if came == 1 {
				<-still
			}
			return nil
		})
	}()
	<-ready
	sent := make(chan error, 1)
	go func() {
		for range messages {
			if err := n.Put(ctx, node.PutRequest{Target: self, Portal: 4}, strings.NewReader("x"), ignore); err != nil {
				sent <- err
				return
			}
		}
		sent <- nil
	}()
	await(t, "a PUT that waits", func() bool { return n.Status().Stats.MsgsAlloc > 0 && n.Status().Stats.RecvCount >= 16 })
	// A PUT that matches no entry waits together with the others, until there are buffers.
	stray := make(chan error, 1)
	go func() {
		stray <- n.Put(ctx, node.PutRequest{Target: self, Portal: 4, MatchBits: 1}, strings.NewReader("x"), ignore)
	}()
	close(still)
	for name, c := range map[string]chan error{"sender": sent, "sink": taken, "stray": stray} {
		select {
		case err := <-c:
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		case <-ctx.Done():
			t.Fatalf("%s: %v", name, errors.New("hangs"))
		}
	}
	var drops uint64
	for _, count := range n.Status().Stats.DropReasons {
		drops += count
	}
	if drops != 1 {
		t.Errorf("%d drops, want that of the stray alone: %v", drops, n.Status().Stats.DropReasons)
	}
}

func ignore(node.Step) error { return nil }

// await calls the function holds again and again until it returns true.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	late := time.After(waitLimit)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("no %s", what)
		}
	}
}
