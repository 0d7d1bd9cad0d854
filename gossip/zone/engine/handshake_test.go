package engine

import (
	"testing"

	"ulnet/gossip/zone/wire"
	"ulnet/lnd/lndtest/spec"
)

// TestPeerRestartsOnLink: a peer that asks for a link gets the view and the versions of all attribute tables once
// in each of its incarnations, even if the link of its previous incarnation is still up (MS-53, MS-86).
func TestPeerRestartsOnLink(t *testing.T) {
	spec.Covers(t, "MS-53", "MS-86")
	s := newSolo(t, 3, Config{})
	s.step(Input{Kind: Set, Key: "a"})
	for _, c := range []struct {
		what  string
		inc   uint64
		kind  wire.Kind
		times int
	}{
		{"a new link", 7, wire.LinkRequest, 1},
		{"a repeated request", 7, wire.LinkRequest, 0},
		{"a new incarnation", 8, wire.LinkRequest, 1},
		{"a repeated request of it", 8, wire.LinkRequest, 0},
		{"a new incarnation that accepts", 9, wire.LinkAccept, 1},
	} {
		s.hear(1, v(c.inc, 1), wire.Message{Kind: c.kind, Roles: wire.Random})
		if views, digests := s.count(wire.Base), s.count(wire.AttributeDigest); views != c.times || digests != c.times {
			t.Errorf("%s: sent %d views and %d digests of tables, want %d", c.what, views, digests, c.times)
		}
	}
}
