package zone_test

import (
	"testing"

	"ulnet/gossip/zone"
	"ulnet/lnd/lndtest/spec"
	"ulnet/portals"
	"ulnet/portals/portalstest"
)

// TestStartOnBareNode: an agent needs a node with 0@lo and discovery.
func TestStartOnBareNode(t *testing.T) {
	spec.Covers(t, "MS-112")
	portalstest.BareNode(t, func(table *portals.Table) error {
		_, err := zone.New(table, zone.Config{Zone: "z", Self: zone.MustParseID("n=10.0.0.1@tcp")})
		return err
	})
}
