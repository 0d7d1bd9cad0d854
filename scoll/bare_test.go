package scoll_test

import (
	"testing"

	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/portals/portalstest"
	"ulnet/scoll"
)

// TestStartOnBareNode: an agent starts only on a node that has 0@lo and discovery.
func TestStartOnBareNode(t *testing.T) {
	portalstest.BareNode(t, func(table *portals.Table) error {
		_, err := scoll.New(table, scoll.Config{Self: nid.MustParse("10.0.0.1@tcp")})
		return err
	})
}
