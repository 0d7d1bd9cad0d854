package engine

import (
	"slices"
	"strings"
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
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

// TestRestartedTurnedOff: a node with three NIDs starts again, with its discovery off. The answer of one NID says so. No two of
// its NIDs stay one peer, and none is multi-rail.
func TestRestartedTurnedOff(t *testing.T) {
	spec.Covers(t, "PD-31")
	all := []nid.NID{them, also, other}
	for name, features := range map[string]wire.Features{"no discovery": off, "no multi-rail": plain, "no discovery, gateway": off} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, Limits{})
			b.meet(all...)
			if strings.Contains(name, "gateway") {
				b.step(Input{Kind: RoutesAre, Gateways: all[:1]})
			}
			for i, id := range all {
				in := pushFrom(id, info(full, 3, all...))
				in.Incarnation = uint64(1 + i)
				b.step(in)
			}
			b.step(Input{Kind: Refresh, NID: them, Force: true})
			answer := b.reply(info(features, 2, all...))
			answer.Incarnation = 9
			b.step(answer)
			b.settle(info(features, 2, all...))
			for _, id := range all {
				if p := b.m.peers.of(id); p != nil && (len(p.nis) > 1 || p.flags.Has(lnet.PeerMultiRail)) {
					t.Errorf("%v is known as %v: %v", id, p.nis, p.flags)
				}
			}
		})
	}
}

// TestOneRailTurnsOff: a peer with one NID says that its discovery is off. It is no longer multi-rail, and gets no
// pushes. When its discovery is on again, it is multi-rail again. A configured peer stays multi-rail all the time.
func TestOneRailTurnsOff(t *testing.T) {
	spec.Covers(t, "PD-31")
	for name, configured := range map[string]bool{"discovered": false, "configured": true} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, Limits{})
			b.meet(them)
			if configured {
				b.step(Input{Kind: Configure, NID: them})
			}
			for i, features := range []wire.Features{off, full} {
				b.step(Input{Kind: Refresh, NID: them, Force: true})
				b.settle(info(features, 3, them))
				if b.step(selfIs(uint32(3 + i))); (len(b.open) > 0) != (features == full) {
					t.Errorf("with %v, news of this node cause %v", features, b.open)
				}
				b.settle(info(features, 3, them))
				want := configured || features == full
				if p := b.m.peers.of(them); p.flags.Has(lnet.PeerMultiRail) != want || !p.flags.UpToDate() {
					t.Errorf("after an answer with %v: %v", features, p.flags)
				}
			}
		})
	}
}

// TestGatewayRestartsOff: a gateway starts again, with its discovery off. A push of one of its NIDs, or the answer of
// that NID to a ping, says so. Each NID becomes a peer of its own that is not multi-rail, and is asked at once. There
// is one exception: a NID that has pushed this is forgotten, like any peer with one NID that turns its discovery off,
// unless there is a route by it.
func TestGatewayRestartsOff(t *testing.T) {
	spec.Covers(t, "PD-31")
	all := []nid.NID{them, also, other}
	for name, c := range map[string]struct {
		gateways []nid.NID
		pushes   bool
	}{
		"answer of the NID of the route":      {all[:1], false},
		"answer of another NID":               {all[1:2], false},
		"push of another NID":                 {all[1:2], true},
		"push of another NID than two routes": {all[1:], true},
		"push of the NID of one of two":       {all[:2], true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, Limits{})
			b.meet(all...)
			b.step(Input{Kind: RoutesAre, Gateways: c.gateways})
			for i, id := range all {
				in := pushFrom(id, info(full, 3, all...))
				in.Incarnation = uint64(1 + i)
				b.step(in)
			}
			b.settle(info(full, 3, all...))
			news := pushFrom(them, info(off, 2, all...))
			if !c.pushes {
				b.step(Input{Kind: Refresh, NID: them, Force: true})
				news = b.reply(info(off, 2, all...))
			}
			news.Incarnation = 9
			b.step(news)
			known := all
			if c.pushes && !slices.Contains(c.gateways, them) {
				known = all[1:]
			}
			for _, id := range all[1:] {
				if slices.Contains(b.out.Gone, id) || !slices.ContainsFunc(b.open, func(s Send) bool { return s.To == id && !s.Push }) {
					t.Errorf("%v is not asked: %v; gone: %v", id, b.open, b.out.Gone)
				}
			}
			b.settle(info(off, 2, all...))
			for _, id := range known {
				if p := b.m.peers.of(id); p == nil || len(p.nis) != 1 || p.flags.Has(lnet.PeerMultiRail) || !p.flags.UpToDate() {
					t.Errorf("in the end %v is known as %+v", id, p)
				}
			}
		})
	}
}
