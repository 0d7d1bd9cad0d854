package node

import (
	"context"
	"testing"
	"time"

	"ulnet/cmd/internal/config"
	"ulnet/lnd/lndtest/spec"
)

// TestAlive: a node that runs is alive. While a lock is held that its state needs, Alive does not
// return.
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
	n.cpts.mu.Lock()
	answer := make(chan error, 1)
	go func() { answer <- n.Alive(t.Context()) }()
	select {
	case err := <-answer:
		t.Errorf("Alive returned %v while a lock was held", err)
	case <-time.After(20 * time.Millisecond):
	}
	n.cpts.mu.Unlock()
	if err := <-answer; err != nil {
		t.Error(err)
	}
}
