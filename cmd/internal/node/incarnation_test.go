package node_test

import (
	"testing"

	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/node"
)

// TestIncarnation: a node has the incarnation number that is configured. Its TCP connections use
// another number of their own.
func TestIncarnation(t *testing.T) {
	cfg := config.Default()
	cfg.Networks = "lo"
	n, err := node.New(node.Config{Config: cfg, Incarnation: 7})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Shutdown(t.Context())
	if got := n.Status().Incarnation; got != 7 {
		t.Errorf("incarnation %d, want 7", got)
	}
	if got := newNode(t).Status().Incarnation; got <= 7 {
		t.Errorf("incarnation %d by default, want the wall clock", got)
	}
}
