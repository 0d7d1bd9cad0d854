package engine

import (
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// TestPeerTurnsOff: a peer with two NIDs turns its discovery off. The news comes by a push, while nothing else
// happens or while the peer is being asked, or by the answer to a ping, with the push before or after it. In each
// case the NIDs become peers of their own: none has a second NID.
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
		"answer, then the push": func(b *bench) {
			b.step(Input{Kind: Refresh, NID: them, Force: true})
			b.step(b.reply(off))
			b.step(pushFrom(also, off))
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, Limits{})
			b.meet(them)
			b.step(Input{Kind: Refresh, NID: them})
			b.step(b.reply(info(full, 2, them, also)))
			b.settle(info(full, 2, them, also))
			if p := b.m.peers.of(also); p == nil || p != b.m.peers.of(them) {
				t.Fatalf("%v and %v are not one peer before", them, also)
			}
			news(b)
			for _, id := range []nid.NID{them, also} {
				if p := b.m.peers.of(id); p != nil && len(p.nis) > 1 {
					t.Errorf("%v has %d NIDs: %v", id, len(p.nis), p.flags)
				}
			}
		})
	}
}
