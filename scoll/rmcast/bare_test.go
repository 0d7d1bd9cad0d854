package rmcast_test

import (
	"errors"
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/lo"
	"ulnet/lnet"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/scoll/rmcast"
)

// TestStartOnBareNode: a node without 0@lo does not reach itself, and one without discovery
// never gets its peers' messages. An agent says so when it starts, and what to add.
func TestStartOnBareNode(t *testing.T) {
	table := portals.New(lnet.New(lnet.Config{Incarnation: 1, Clock: machine.RealClock()}))
	start := func(want error) {
		t.Helper()
		if _, err := rmcast.Start(table, rmcast.AgentConfig{Self: nid.MustParse("10.0.0.1@tcp")}); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	start(portals.ErrNoLoopback)
	if _, err := table.Node().AddNI(lo.Driver{}, lnd.Config{Net: nid.Lo0().Net()}); err != nil {
		t.Fatal(err)
	}
	start(portals.ErrNoDiscovery)
	if err := table.Node().Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}
