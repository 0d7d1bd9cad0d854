package health_test

import (
	"testing"

	"ulnet/health"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/discovery"
	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/portals/portalstest"
)

// TestStartOnBareNode: an agent starts only on a node that has 0@lo and discovery.
func TestStartOnBareNode(t *testing.T) {
	spec.Covers(t, "CH-73")
	servers := []nid.NID{nid.MustParse("10.0.0.1@tcp"), nid.MustParse("10.0.0.2@tcp")}
	t.Run("client", func(t *testing.T) {
		portalstest.BareNode(t, func(table *portals.Table) error {
			_, err := health.Dial(table, health.DialConfig{Self: nid.MustParse("10.0.0.3@tcp"), Servers: servers})
			return err
		})
	})
	t.Run("server", func(t *testing.T) {
		portalstest.BareNode(t, func(table *portals.Table) error {
			_, err := health.StartServer(table, health.AgentConfig{
				Self: servers[0], Servers: servers, View: &view{}, Broadcaster: broadcaster{},
			})
			return err
		})
	})
}

// TestOtherSelf: a client and a server take part only under a NID of their node.
func TestOtherSelf(t *testing.T) {
	servers := []nid.NID{nid.MustParse("10.0.0.99@tcp"), nid.MustParse("10.0.0.2@tcp")}
	t.Run("client", func(t *testing.T) {
		portalstest.OtherSelf(t, answerPings, func(table *portals.Table, self nid.NID) error {
			_, err := health.Dial(table, health.DialConfig{Self: self, Servers: servers})
			return err
		})
	})
	t.Run("server", func(t *testing.T) {
		portalstest.OtherSelf(t, answerPings, func(table *portals.Table, self nid.NID) error {
			_, err := health.StartServer(table, health.AgentConfig{Self: self, Servers: servers, View: &view{}, Broadcaster: broadcaster{}})
			return err
		})
	})
}

// answerPings makes a node answer pings.
func answerPings(table *portals.Table) error {
	_, err := discovery.NewTarget(table)
	return err
}
