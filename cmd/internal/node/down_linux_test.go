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

// TestInterfaceDown: on an interface that is down, no NI can start until the interface is up. On
// one without a link, an NI can start, since the link may come.
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
