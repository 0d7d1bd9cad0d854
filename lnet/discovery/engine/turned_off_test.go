package engine

import (
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/nid"
)

// TestPeerTurnsOff: a peer with two NIDs turns its discovery off. The news comes by a push or by the answer to a ping,
// in several states of the peer and of this node. In each case the NIDs become peers of their own: none has a second
// NID.
func TestPeerTurnsOff(t *testing.T) {
	spec.Covers(t, "PD-31")
	off := info(off, 3, them, also)
	for name, news := range map[string]func(b *bench){
		"push": func(b *bench) { b.step(pushFrom(them, off)) },
		"push while a ping is open": func(b *bench) {
			b.step(Input{Kind: Refresh, NID: them, Force: true})
			answer := b.reply(off)
			b.step(pushFrom(also, off))
			b.step(answer)
		},
		"answer": func(b *bench) {
			b.step(Input{Kind: Refresh, NID: them, Force: true})
			b.step(b.reply(off))
		},
		"push before the first discovery has ended": func(b *bench) {
			b.m.peers.of(them).flags &^= lnet.PeerDiscovered
			b.step(pushFrom(them, off))
		},
		"while discovery is off here": func(b *bench) {
			b.step(Input{Kind: SelfIs, Self: Self{Sequence: 4, NIDs: ours}})
			b.step(pushFrom(also, off))
		},
		"answer, then the push": func(b *bench) {
			b.step(Input{Kind: Refresh, NID: them, Force: true})
			b.step(b.reply(off))
			b.step(pushFrom(also, off))
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := twoRails(t)
			news(b)
			for _, id := range []nid.NID{them, also} {
				if p := b.m.peers.of(id); p != nil && len(p.nis) > 1 {
					t.Errorf("%v has %d NIDs: %v", id, len(p.nis), p.flags)
				}
			}
		})
	}
}

// TestGatewayTurnsOff: a gateway that turns its discovery off keeps its NIDs, because routes depend on their states.
func TestGatewayTurnsOff(t *testing.T) {
	spec.Covers(t, "PD-31")
	b := twoRails(t)
	b.step(Input{Kind: RoutesAre, Gateways: []nid.NID{them}})
	b.step(pushFrom(them, info(off, 3, them, also)))
	if p := b.m.peers.of(also); p == nil || p != b.m.peers.of(them) {
		t.Errorf("%v and %v are not one peer any more", them, also)
	}
}

// twoRails returns a bench whose machine knows that them and also are the NIDs of one node.
func twoRails(t *testing.T) *bench {
	t.Helper()
	b := newBench(t, Limits{})
	b.meet(them)
	b.step(Input{Kind: Refresh, NID: them})
	b.step(b.reply(info(full, 2, them, also)))
	b.settle(info(full, 2, them, also))
	if p := b.m.peers.of(also); p == nil || p != b.m.peers.of(them) {
		t.Fatalf("%v and %v are not one peer", them, also)
	}
	return b
}
