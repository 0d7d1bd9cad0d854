package node_test

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"syscall"
	"testing"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/node"
	"ulnet/lnd/lndtest/loopback"
)

const address = "127.0.0.64"

// newTCPNode starts a node whose only NI is on the constant address.
func newTCPNode(t *testing.T, change func(*config.Config)) (*node.Node, error) {
	t.Helper()
	return newLoggedNode(t, nil, change)
}

// newLoggedNode does the same, for a node that logs to log.
func newLoggedNode(t *testing.T, log *slog.Logger, change func(*config.Config)) (*node.Node, error) {
	t.Helper()
	port, err := loopback.FreePort(netip.MustParseAddr(address))
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.Networks, cfg.AcceptPort = "tcp("+address+")", int(port)
	change(&cfg)
	n, err := node.New(node.Config{Config: cfg, Log: log})
	if err == nil {
		t.Cleanup(func() {
			if err := n.Shutdown(context.Background()); err != nil {
				t.Errorf("shutdown: %v", err)
			}
		})
	}
	return n, err
}

// TestNIInitErrors: for each reason, the error has the errno of LNetNIInit and says what to do.
// TestInterfaceDown tests the reason that is missing here: an interface that is down.
func TestNIInitErrors(t *testing.T) {
	n, err := newTCPNode(t, func(*config.Config) {})
	if err != nil {
		t.Fatal(err)
	}
	init := func(change func(*config.Config)) error { _, err := newTCPNode(t, change); return err }
	add := func(networks string) error { return n.AddNetworks(node.AddRequest{Networks: networks}) }
	for _, c := range []struct {
		name string
		err  error
		want error
	}{
		{"no such interface", add("tcp1(no-such-if)"), syscall.ENETDOWN},
		{"no such interface at the start", init(func(c *config.Config) { c.Networks = "tcp(no-such-if)" }), syscall.ENETDOWN},
		{"address of somebody else", add("tcp1(192.0.2.1)"), syscall.EADDRNOTAVAIL},
		{"NID twice", add("tcp(" + address + ")"), syscall.EEXIST},
		{"no network", add("nonsense"), syscall.EINVAL},
		{"no driver", add("gni(" + address + ")"), syscall.EINVAL},
		{"negative credits", init(func(c *config.Config) { c.Credits = -1 }), syscall.EINVAL},
		{"negative peer credits", init(func(c *config.Config) { c.PeerCredits = -1 }), syscall.EINVAL},
		{"shutdown", n.Shutdown(t.Context()), nil},
		{"after it", add("tcp(" + address + ")"), syscall.ESHUTDOWN},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, c.err, c.want)
		}
		if c.err != nil && cli.HintOf(c.err) == "" && c.name != "no network" { // the text of the error of this case says what to do, so it needs no hint
			t.Errorf("%s: no hint with %v", c.name, c.err)
		}
	}
}
