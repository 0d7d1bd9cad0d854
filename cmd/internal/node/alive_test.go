package node

import (
	"bytes"
	"context"
	"runtime"
	"testing"

	"ulnet/cmd/internal/config"
	"ulnet/lnd/lndtest/spec"
)

// TestAlive: a node that runs is alive. While another goroutine holds a lock that is needed to read
// the state of the node, Alive does not return.
func TestAlive(t *testing.T) {
	spec.Covers(t, "OP-2")
	cfg := config.Default()
	cfg.Networks = "lo"
	n, err := New(Config{Config: cfg})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := n.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	if err := n.Alive(t.Context()); err != nil {
		t.Error(err)
	}
	n.origins.mu.Lock()
	answer := make(chan error, 1)
	go func() { answer <- n.Alive(t.Context()) }()
	for !waitsForLock("node.(*Node).Alive(") {
		select {
		case err := <-answer:
			n.origins.mu.Unlock()
			t.Fatalf("Alive returned %v while a lock was held", err)
		default:
			runtime.Gosched()
		}
	}
	n.origins.mu.Unlock()
	if err := <-answer; err != nil {
		t.Error(err)
	}
}

// waitsForLock reports whether a goroutine in a function waits for a mutex.
func waitsForLock(function string) bool {
	stacks := make([]byte, 1<<20)
	for stack := range bytes.SplitSeq(stacks[:runtime.Stack(stacks, true)], []byte("\n\n")) {
		head, frames, _ := bytes.Cut(stack, []byte("\n"))
		if bytes.Contains(head, []byte("[sync.Mutex.Lock")) && bytes.Contains(frames, []byte(function)) {
			return true
		}
	}
	return false
}
