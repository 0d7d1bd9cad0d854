// Package portalstest has what the tests of protocols above portals share.
package portalstest

import (
	"errors"
	"strings"
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/lo"
	"ulnet/lnet"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals"
)

// BareNode checks that an agent refuses nodes on which it could not work, and says what to add.
// It tries a node without 0@lo, which does not reach itself, and one without discovery, which
// never gets the messages of its peers. start starts the agent on a node.
func BareNode(t *testing.T, start func(*portals.Table) error) {
	t.Helper()
	table := portals.New(lnet.New(lnet.Config{Incarnation: 1, Clock: machine.RealClock()}))
	if err := start(table); !errors.Is(err, portals.ErrNoLoopback) {
		t.Errorf("%v, want %v", err, portals.ErrNoLoopback)
	}
	if _, err := table.Node().AddNI(lo.Driver{}, lnd.Config{Net: nid.Lo0().Net()}); err != nil {
		t.Fatal(err)
	}
	if err := start(table); !errors.Is(err, portals.ErrNoDiscovery) {
		t.Errorf("%v, want %v", err, portals.ErrNoDiscovery)
	}
	if err := table.Node().Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// OtherSelf checks that an agent refuses to take part under a NID that is not one of its node. answer makes the node answer
// pings; start starts the agent under a NID.
func OtherSelf(t *testing.T, answer func(*portals.Table) error, start func(*portals.Table, nid.NID) error) {
	t.Helper()
	table := portals.New(lnet.New(lnet.Config{Incarnation: 1, Clock: machine.RealClock()}))
	if _, err := table.Node().AddNI(lo.Driver{}, lnd.Config{Net: nid.Lo0().Net()}); err != nil {
		t.Fatal(err)
	}
	if err := answer(table); err != nil {
		t.Fatal(err)
	}
	other := nid.MustParse("10.0.0.99@tcp")
	if err := start(table, other); err == nil || !strings.Contains(err.Error(), other.String()) {
		t.Errorf("%v, want that %v is no NID of this node", err, other)
	}
	if err := start(table, nid.Lo0()); err == nil {
		t.Error("an agent takes part as 0@lo")
	}
	if err := table.Node().Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}
