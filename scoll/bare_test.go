package scoll_test

import (
	"testing"

	"ulnet/lnet/discovery"
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

// TestOtherSelf: an agent takes part only under a NID of its node.
func TestOtherSelf(t *testing.T) {
	portalstest.OtherSelf(t, answerPings, func(table *portals.Table, self nid.NID) error {
		_, err := scoll.New(table, scoll.Config{Self: self})
		return err
	})
}

// answerPings makes a node answer pings.
func answerPings(table *portals.Table) error {
	_, err := discovery.NewTarget(table)
	return err
}
