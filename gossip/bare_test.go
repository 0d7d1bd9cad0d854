package gossip_test

import (
	"testing"

	"ulnet/gossip"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/portals/portalstest"
)

// TestNewOnBareNode: an agent needs a node with 0@lo and discovery.
func TestNewOnBareNode(t *testing.T) {
	spec.Covers(t, "GO-81")
	portalstest.BareNode(t, func(table *portals.Table) error {
		_, err := gossip.New(table, gossip.Config{
			Participants: []nid.NID{nid.MustParse("10.0.0.1@tcp"), nid.MustParse("10.0.0.2@tcp")},
		})
		return err
	})
}
