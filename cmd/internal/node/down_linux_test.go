package node_test

import (
	"context"
	"errors"
	"syscall"
	"testing"

	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/node"
	"ulnet/lnd/lndtest/netlab"
)

// TestInterfaceDown: an interface that is down makes no NI, until it is up. One
// without a link does: that may come.
func TestInterfaceDown(t *testing.T) {
	lab := netlab.New(t)
	own, other := lab.Host("own"), lab.Host("other")
	cable := lab.Cable(own, "10.7.0.1/24", other, "10.7.0.2/24")
	start := func() error {
		return own.Do(func() error {
			cfg := config.Default()
			cfg.Networks = "tcp(eth0)"
			n, err := node.New(node.Config{Config: cfg})
			if err != nil {
				return err
			}
			return n.Shutdown(context.Background())
		})
	}
	cable.Pull(own)
	if err := start(); !errors.Is(err, syscall.ENETDOWN) {
		t.Errorf("down: %v, want ENETDOWN", err)
	}
	cable.Plug(own)
	cable.Pull(other)
	if err := start(); err != nil {
		t.Errorf("up, but without a link: %v", err)
	}
}
