package engine

import (
	"testing"

	"ulnet/gossip/zone/wire"
	"ulnet/lnd/lndtest/spec"
)

// TestIncarnationKept: if a step raises the incarnation of this node, the output has the new
// number, which is stored, so that the next incarnation begins above it. Otherwise, and after
// Join, whose caller knows the number, the output has 0 (MS-A2, MS-6).
func TestIncarnationKept(t *testing.T) {
	spec.Covers(t, "MS-6", "MS-A2", "MS-A3", "MS-A7", "MS-A17")
	s := acquainted(t, 6, Config{})
	keeps := func(what string, inc uint64, own wire.Version) {
		t.Helper()
		if s.out.Incarnation != inc || s.m.Version() != own {
			t.Errorf("%s: keep %d with version %v, want %d with %v", what, s.out.Incarnation, s.m.Version(), inc, own)
		}
	}
	s.suspicion(1, 0, v(10, 1))
	keeps("MS-A2 a suspicion of this life", 0, v(10, 2))
	s.suspicion(1, 0, v(12, 5))
	keeps("MS-A2 a suspicion of an incarnation to come", 13, v(13, 1))
	s.leave(0, v(15, 1), 0)
	keeps("MS-A3 a goodbye of an incarnation to come", 16, v(16, 1))
	s.suspicion(1, 0, v(16, 1<<32-1))
	keeps("no minor numbers left", 17, v(17, 1))
	s.suspicion(1, 0, v(17, 1<<32-2))
	keeps("the last minor number", 0, v(17, 1<<32-1))
	s.hear(1, v(1, 1), wire.Message{Kind: wire.DiscoveryRequest, Flags: wire.Healing})
	keeps("MS-A7 no minor numbers left", 18, v(18, 1))
	s.want(Event{Kind: Refuted, Node: s.ref[0], Version: v(18, 1)})
	s.step(Input{Kind: Set, Key: "k"})
	s.hear(1, v(1, 1), wire.Message{Kind: wire.AttributeDigest, Lists: &wire.Lists{Tables: []wire.TableVersion{{Owner: s.ref[0], Inc: 18, U: 9}}}})
	keeps("MS-A17 attributes of another life", 19, v(19, 1))
	s.step(Input{})
	keeps("nothing", 0, v(19, 1))
	s.step(Input{Kind: Leave})
	s.step(Input{Kind: Join, Inc: 19})
	keeps("MS-6 a join that is not above it", 0, v(19, 1))
	s.step(Input{Kind: Join, Inc: 20})
	keeps("MS-6 a join above it", 0, v(20, 1))
}
