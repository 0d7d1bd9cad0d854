package engine

import (
	"syscall"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// TestGatewaysWord: infos of a gateway are believed about its NIDs on nets beyond it, and
// about no other NIDs.
func TestGatewaysWord(t *testing.T) {
	spec.Covers(t, "RT-20")
	t.Parallel()
	far, near := nid.MustParse("10.5.0.2@tcp5"), nid.MustParse("10.1.0.9@tcp1")
	other := nid.MustParse("10.5.0.9@tcp5")
	for name, test := range map[string]struct {
		gateways []nid.NID
		features wire.Features
		own      map[nid.NID]bool // by NID: whether it becomes the gateway's own
	}{
		"a gateway":                     {[]nid.NID{them}, full, map[nid.NID]bool{far: true, near: false, other: false}},
		"a gateway without discovery":   {[]nid.NID{them}, plain, map[nid.NID]bool{far: true, near: false, other: false}},
		"any other peer":                {nil, full, map[nid.NID]bool{far: false, near: false, other: false}},
		"a peer that lists the gateway": {[]nid.NID{other}, full, map[nid.NID]bool{far: false, near: false, other: false}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, Limits{})
			b.step(Input{Kind: RoutesAre, Gateways: test.gateways})
			b.step(Input{Kind: Discover, NID: other}) // this discovery makes other the NID of another peer
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

// TestProbesBeyond: a NID beyond a gateway is probed when there is a route to its net.
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

// TestForcedAgain: a forced discovery pings even while an earlier ping or push has no answer. The
// deadline of the exchange stays, so that the discovery ends however often it is forced.
func TestForcedAgain(t *testing.T) {
	spec.Covers(t, "RT-6")
	b := newBench(t, Limits{MaxInFlight: 1, Timeout: 150 * time.Second})
	forced := Input{Kind: Refresh, NID: them, Force: true}
	b.step(forced)
	b.until(60 * time.Second)
	b.want(b.step(forced), "cancel", "10.0.0.2@tcp: DISCOVERING|PING_SENT|FORCE_PUSH", "ping 10.0.0.2@tcp 272")
	b.until(120 * time.Second)
	b.step(b.reply(info(full, 2, them)))
	b.now += repeatAfter
	b.want(b.step(forced), "cancel", "10.0.0.2@tcp: MULTI_RAIL|DISCOVERING|PING_SENT|FORCE_PUSH", "ping 10.0.0.2@tcp 272")
	b.now = 180 * time.Second
	b.step(forced)
	b.now = 270 * time.Second
	b.step(Input{})
	if d := b.out.Done; len(d) != 1 || d[0].NID != them || d[0].Err != syscall.ETIMEDOUT || len(b.open) > 0 || b.m.inFlight != [numClasses]int{} {
		t.Errorf("150 s after the first exchange without an answer: %+v, open %v, slots taken: %v", b.out, b.open, b.m.inFlight)
	}
}

// TestForcedOften: calls that force a discovery more often than the peer answers do not put off its end.
func TestForcedOften(t *testing.T) {
	spec.Covers(t, "RT-6")
	b := newBench(t, Limits{})
	forced := Input{Kind: Refresh, NID: them, Force: true}
	b.step(forced)
	first := b.reply(info(full, 2, them))
	answers := []Input{}
	done := 0
	for b.now = time.Duration(0); b.now < 30*time.Second && done == 0; b.now += 100 * time.Millisecond {
		if b.now == 10*time.Second {
			answers = append(answers, first)
		}
		for _, in := range append(answers, forced) {
			b.step(in)
			done += len(b.out.Done)
			if n := len(b.out.Sends); n > 0 && b.last.Push {
				answers = []Input{b.ack()}
			}
		}
	}
	if n := b.m.Stats().Pings; done == 0 || n > 5 {
		t.Errorf("%d ended, after %d pings", done, n)
	}
}

// TestForcedAt: a forced discovery pings the NID that it names.
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

// TestGatewayRestarts: when a gateway has started again, what it said of its NIDs on nets
// beyond it no longer counts. Nothing is sent to these NIDs: such a message could go through
// the gateway itself, where a message to its own NID on another net is an error that ends the
// connection.
func TestGatewayRestarts(t *testing.T) {
	spec.Covers(t, "RT-20")
	t.Parallel()
	far, third := nid.MustParse("10.5.0.2@tcp5"), nid.MustParse("10.0.0.12@tcp")
	for name, heard := range map[string]nid.NID{"heard at its first NID": them, "heard at another one": third} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, Limits{})
			b.step(Input{Kind: RoutesAre, Gateways: []nid.NID{them}, Beyond: []nid.Net{far.Net()}})
			push := func(from nid.NID, incarnation uint64, sequence uint32) {
				in := pushFrom(from, info(full, sequence, them, third, far))
				in.Incarnation = incarnation
				b.step(in)
				for len(b.open) > 0 && b.open[0].To != far {
					s := b.open[0]
					if s.Push {
						b.step(Input{Kind: Acked, Exchange: s.Exchange, Local: us, Remote: s.To, Sequence: b.m.self.Sequence})
						continue
					}
					in.Kind, in.Exchange, in.Remote = Replied, s.Exchange, s.To
					b.step(in)
				}
			}
			push(them, 7, 5)
			push(third, 7, 5)
			if b.m.peers.of(far) != b.m.peers.of(them) || b.m.peers.of(far) != b.m.peers.of(third) {
				t.Fatal("the gateway's NIDs are not one peer before it restarts")
			}
			push(heard, 8, 2)
			b.step(selfIs(3))
			for _, s := range b.open {
				if s.To == far {
					t.Errorf("sends to %v: %+v", far, s)
				}
			}
			if p := b.m.peers.of(far); p == nil || p != b.m.peers.of(them) || p != b.m.peers.of(third) {
				t.Errorf("%v is not one of the gateway's NIDs again", far)
			}
		})
	}
}
