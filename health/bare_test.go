package health_test

import (
	"errors"
	"testing"

	"ulnet/health"
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
		servers := []nid.NID{nid.MustParse("10.0.0.1@tcp"), nid.MustParse("10.0.0.2@tcp")}
		_, err := health.Dial(table, health.DialConfig{Self: nid.MustParse("10.0.0.3@tcp"), ClientConfig: health.ClientConfig{Servers: servers}})
		if !errors.Is(err, want) {
			t.Errorf("a client: %v, want %v", err, want)
		}
		_, err = health.StartServer(table, health.AgentConfig{
			ServerConfig: health.ServerConfig{Self: servers[0], Servers: servers}, View: &view{}, Broadcaster: broadcaster{},
		})
		if !errors.Is(err, want) {
			t.Errorf("a server: %v, want %v", err, want)
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
