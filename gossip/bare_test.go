package gossip_test

import (
	"errors"
	"testing"

	"ulnet/gossip"
	"ulnet/lnd"
	"ulnet/lnd/lo"
	"ulnet/lnet"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals"
)

// TestStartOnBareNode: a node without 0@lo does not reach itself, and one without discovery
// never gets its peers' messages. An agent says so when it starts, and what to add.
func TestStartOnBareNode(t *testing.T) {
	table := portals.New(lnet.New(lnet.Config{Incarnation: 1, Clock: machine.RealClock()}))
	start := func(want error) {
		t.Helper()
		list, err := gossip.NewList([]nid.NID{nid.MustParse("10.0.0.1@tcp"), nid.MustParse("10.0.0.2@tcp")})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := gossip.Start(table, list, gossip.AgentConfig{}); !errors.Is(err, want) {
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
