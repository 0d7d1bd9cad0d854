package engine

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/scoll/wire"
)

// TestHostile: SC-160: whatever messages are forged, the machines keep their invariants, every
// broadcast ends, and no state remains.
func TestHostile(t *testing.T) {
	spec.Covers(t, "SC-160")
	var met Stats
	for seed := range effort.Of[uint64](150, 150, 1000) {
		rng := rand.New(rand.NewPCG(seed, 4))
		n := 2 + rng.IntN(12)
		c := newCluster(t, n, func(c *cluster, cfg *sim.Config[*packet]) {
			cfg.Seed = seed
			c.cfg.MaxTimeout = time.Second
			c.forge = func(to sim.NodeID, p packet) (sim.NodeID, *packet) {
				if rng.IntN(2) == 0 {
					return 0, nil
				}
				p.data, p.trailer = mutate(rng, p.data), mutate(rng, p.trailer)
				if rng.IntN(3) == 0 {
					to = sim.NodeID(rng.IntN(n))
				}
				return to, &p
			}
		})
		c.run(time.Millisecond)
		root := sim.NodeID(rng.IntN(n))
		group := c.create(root, wire.Tree{Type: wire.KNomial, K: uint32(2 + rng.IntN(3))}, false)
		for range 3 {
			before := len(c.nodes[root].results)
			o := Outgoing{Payload: []byte("x")}
			if rng.IntN(2) == 0 {
				o.Bulk, o.Segment, c.nodes[root].bulk = 3*wire.MinSegment, uint32(rng.IntN(2)*wire.MinSegment), make([]byte, 3*wire.MinSegment)
			}
			c.start(root, group, o)
			if c.run(time.Second); len(c.nodes[root].results) != before+1 {
				t.Fatalf("seed %d: a broadcast hangs", seed)
			}
		}
		c.forge = nil
		c.run(2 * time.Minute)
		for _, node := range c.nodes {
			s := node.m.Stats()
			met.Malformed += s.Malformed
			met.Protocol += s.Protocol
			met.Spoofed += s.Spoofed
			met.Replayed += s.Replayed
			met.NoGroup += s.NoGroup
			met.BadReply += s.BadReply
			met.Stray += s.Stray
			met.Late += s.Late
			met.Early += s.Early
			if node.m.requests.active != 0 || len(node.m.requests.byBits)+len(node.m.pipelines.byOrigin) != 0 || len(node.m.table.tombstones.of) != 0 {
				t.Fatalf("seed %d: node %d has %d requests left", seed, node.id, node.m.requests.active)
			}
		}
	}
	if min(met.Malformed, met.Protocol, met.Spoofed, met.Replayed, met.NoGroup, met.BadReply, met.Stray, met.Late, met.Early) == 0 {
		t.Errorf("nothing of a kind was met: %+v", met)
	}
}

// mutate changes a few bytes of a message, or cuts some off.
func mutate(rng *rand.Rand, b []byte) []byte {
	b = slices.Clone(b)
	for range rng.IntN(4) {
		if len(b) > 0 {
			b[rng.IntN(len(b))] ^= byte(1 << rng.IntN(8))
		}
	}
	if rng.IntN(8) == 0 {
		b = b[:rng.IntN(len(b)+1)]
	}
	return b
}

// TestLiveStranger: SC-97, SC-160: a broadcast to the live members of a group is refused if
// this node is no member, and no member is alive.
func TestLiveStranger(t *testing.T) {
	spec.Covers(t, "SC-97", "SC-160")
	h := newHarness(t, 2, 1, func(c *Config) { c.Self, c.Watched = testTargets(3, 1)[2].NID, true })
	h.admitted(func(r *wire.RequestHeader) { r.Flags |= wire.FlagSubset })
	h.want("refuse")
	if s := h.refusal().Status; s != wire.ENOGROUP {
		t.Errorf("refused with %v", s)
	}
}

// TestOwnEarlierIncarnation: SC-102: a group that this node created in an earlier incarnation
// is refused.
func TestOwnEarlierIncarnation(t *testing.T) {
	spec.Covers(t, "SC-102")
	h := newHarness(t, 8, 4, nil)
	h.group.Creator, h.group.Incarnation = h.members.NID(4), 4
	h.admitted(nil)
	h.want("refuse")
	if s := h.refusal().Status; s != wire.EREBOOT || h.m.Stats().Rebooted != 1 {
		t.Errorf("refused with %v", s)
	}
}
