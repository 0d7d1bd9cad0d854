package portals_test

import (
	"errors"
	"syscall"
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/lo"
	"ulnet/lnet"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/portals/node"
)

// TestReady: for a node that was put together without package node, the error says what is
// missing: 0@lo, or an agent that answers pings.
func TestReady(t *testing.T) {
	spec.Covers(t, "PT-36")
	table := portals.New(lnet.New(lnet.Config{Incarnation: 1, Clock: machine.RealClock()}))
	if err := table.Ready(); !errors.Is(err, portals.ErrNoLoopback) {
		t.Errorf("no NI: %v", err)
	}
	if _, err := table.Node().AddNI(lo.Driver{}, lnd.Config{Net: nid.Lo0().Net()}); err != nil {
		t.Fatal(err)
	}
	if err := table.Ready(); !errors.Is(err, portals.ErrNoDiscovery) {
		t.Errorf("0@lo alone: %v", err)
	}
	if _, err := table.MEAttach(1, portals.Match{Bits: 1}, portals.Retain, portals.After); err != nil {
		t.Fatal(err)
	}
	if err := table.Ready(); !errors.Is(err, portals.ErrNoDiscovery) {
		t.Errorf("another portal: %v", err)
	}
	if err := table.Node().Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	whole, err := node.Start(node.Config{Networks: "lo"})
	if err != nil {
		t.Fatal(err)
	}
	if err := whole.Table().Ready(); err != nil {
		t.Error(err)
	}
	if err := whole.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := whole.Table().Ready(); !errors.Is(err, syscall.ESHUTDOWN) {
		t.Errorf("a closed node: %v", err)
	}
}
