package gossip_test

import (
	"testing"

	"ulnet/gossip"
	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/portals/portalstest"
)

// TestStartOnBareNode: an agent needs a node with 0@lo and discovery.
func TestStartOnBareNode(t *testing.T) {
	portalstest.BareNode(t, func(table *portals.Table) error {
		list, err := gossip.NewList([]nid.NID{nid.MustParse("10.0.0.1@tcp"), nid.MustParse("10.0.0.2@tcp")})
		if err != nil {
			return err
		}
		_, err = gossip.Start(table, list, gossip.AgentConfig{})
		return err
	})
}
