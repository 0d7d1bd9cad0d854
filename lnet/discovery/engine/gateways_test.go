package engine

import (
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// TestGatewaysWord: a gateway is believed about its NIDs on nets beyond it, and about nothing
// else.
func TestGatewaysWord(t *testing.T) {
	spec.Covers(t, "RT-20")
	t.Parallel()
	far, near := nid.MustParse("10.5.0.2@tcp5"), nid.MustParse("10.1.0.9@tcp1")
	other := nid.MustParse("10.5.0.9@tcp5")
	for name, test := range map[string]struct {
		gateways []nid.NID
		features wire.Features
		own      map[nid.NID]bool // of the NIDs that it lists
	}{
		"a gateway":                     {[]nid.NID{them}, full, map[nid.NID]bool{far: true, near: false, other: false}},
		"a gateway without discovery":   {[]nid.NID{them}, plain, map[nid.NID]bool{far: true, near: false, other: false}},
		"any other peer":                {nil, full, map[nid.NID]bool{far: false, near: false, other: false}},
		"a peer that lists the gateway": {[]nid.NID{other}, full, map[nid.NID]bool{far: false, near: false, other: false}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, Limits{})
			b.step(Input{Kind: RoutesAre, Gateways: test.gateways})
			b.step(Input{Kind: Discover, NID: other}) // another peer has this one
			b.step(Input{Kind: Refresh, NID: them, Force: true})
			b.step(b.reply(info(test.features, 2, them, far, near, other)))
			p := b.m.peers.of(them)
			for id, want := range test.own {
				if got := b.m.peers.of(id) == p; got != want {
					t.Errorf("%v is its own: %v, want %v", id, got, want)
				}
			}
		})
	}
}

// TestProbesBeyond: a NID beyond a gateway is probed once there is a route to its net.
func TestProbesBeyond(t *testing.T) {
	spec.Covers(t, "RT-20")
	t.Parallel()
	far := nid.MustParse("10.5.0.2@tcp5")
	b := newBench(t, Limits{})
	b.step(Input{Kind: Refresh, NID: them})
	b.step(b.reply(info(full, 2, them, far)))
	for _, s := range b.open {
		if s.To == far {
			t.Fatal("probed without a route")
		}
	}
	b.step(Input{Kind: RoutesAre, Beyond: []nid.Net{far.Net()}})
	probed := false
	for _, s := range b.open {
		probed = probed || s.To == far
	}
	if !probed {
		t.Errorf("not probed: %v", b.open)
	}
}

// TestForcedAt: a forced discovery asks at the NID that it names.
func TestForcedAt(t *testing.T) {
	spec.Covers(t, "RT-6")
	t.Parallel()
	also := nid.MustParse("10.1.0.2@tcp1")
	b := newBench(t, Limits{})
	b.m.peers.give(also, newPeer(rail{NIStatus: wire.NIStatus{NID: also}}))
	b.m.peers.touch(b.m.peers.of(also))
	b.step(Input{Kind: Refresh, NID: also, Force: true})
	if b.last.To != also || b.last.Push {
		t.Errorf("asked at %v", b.last.To)
	}
}
