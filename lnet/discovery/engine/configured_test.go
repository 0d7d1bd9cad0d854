package engine

import (
	"errors"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// edit steps a Configure or Deconfigure and returns its error.
func (b *bench) edit(kind Kind, ids ...nid.NID) error {
	b.t.Helper()
	b.step(Input{Kind: kind, Edit: 7, NID: ids[0], NIDs: ids[1:]})
	if len(b.out.Edited) != 1 || b.out.Edited[0].Edit != 7 {
		b.t.Fatalf("edited %v", b.out.Edited)
	}
	return b.out.Edited[0].Err
}

// TestConfigure adds a peer and further NIDs to it, and removes them. The flags of the peer are then 9
// (multi-rail and configured), as Lustre's tool shows them.
func TestConfigure(t *testing.T) {
	b := newBench(t, Limits{})
	b.want(b.step(Input{Kind: Configure, NID: them}), "10.0.0.2@tcp: MULTI_RAIL|CONFIGURED")
	b.want(b.step(Input{Kind: Configure, NID: them, NIDs: []nid.NID{also}}), "10.0.0.2@tcp 10.1.0.2@tcp1: MULTI_RAIL|CONFIGURED")
	b.want(b.step(Input{Kind: Configure, NID: them, NIDs: []nid.NID{also}}), "10.0.0.2@tcp 10.1.0.2@tcp1: MULTI_RAIL|CONFIGURED")
	b.want(b.step(Input{Kind: Deconfigure, NID: them, NIDs: []nid.NID{also, also}}), "gone 10.1.0.2@tcp1", "10.0.0.2@tcp: MULTI_RAIL|CONFIGURED")
	b.want(b.step(Input{Kind: Deconfigure, NID: them}), "gone 10.0.0.2@tcp")
	if got := lnet.PeerConfigured | lnet.PeerMultiRail; got != 9 {
		t.Errorf("the state is %d, want 9", got)
	}
}

// TestConfigureErrors: a change that cannot be made is refused, and nothing changes.
func TestConfigureErrors(t *testing.T) {
	b := newBench(t, Limits{})
	if err := b.edit(Configure, them, also); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		kind Kind
		ids  []nid.NID
		want error
	}{
		{Configure, []nid.NID{also}, syscall.EEXIST},
		{Configure, []nid.NID{other, also}, syscall.EEXIST},
		{Configure, []nid.NID{us}, syscall.EINVAL},
		{Configure, []nid.NID{nid.Lo0()}, syscall.EINVAL},
		{Configure, []nid.NID{{}}, syscall.EINVAL},
		{Deconfigure, []nid.NID{also}, syscall.ENOENT},
		{Deconfigure, []nid.NID{other}, syscall.ENOENT},
		{Deconfigure, []nid.NID{them, other}, syscall.ENOENT},
	} {
		if err := b.edit(c.kind, c.ids...); !errors.Is(err, c.want) {
			t.Errorf("%v: %v, want %v", c.ids, err, c.want)
		}
		if len(b.out.Peers) > 0 || len(b.out.Gone) > 0 {
			t.Errorf("%v changed %v, gone %v", c.ids, b.out.Peers, b.out.Gone)
		}
	}
	many := make([]nid.NID, 200)
	for i := range many {
		many[i] = nid.FromNumber(them.Net(), uint32(0x0B000000+i))
	}
	if err := b.edit(Configure, many...); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("200 NIDs: %v, want ENOSPC", err)
	}
	b.step(Input{Kind: Configure, NID: other, NIDs: []nid.NID{many[0]}, Plain: true})
	if err := b.out.Edited[0].Err; !errors.Is(err, syscall.EINVAL) {
		t.Errorf("two NIDs that are not multi-rail: %v, want EINVAL", err)
	}
	b.step(Input{Kind: Configure, NID: them, Plain: true})
	if err := b.out.Edited[0].Err; !errors.Is(err, syscall.EINVAL) || !b.m.peers.of(them).flags.Has(lnet.PeerMultiRail) {
		t.Errorf("a peer with two NIDs that is multi-rail no more: %v, want EINVAL", err)
	}
}

// TestConfigureAtLimits: NIDs that a configured peer has already need no room, and discovered peers
// that are idle make room.
func TestConfigureAtLimits(t *testing.T) {
	b := newBench(t, Limits{MaxInterfaces: 3})
	for range 2 {
		if err := b.edit(Configure, them, also); err != nil {
			t.Errorf("two NIDs: %v", err)
		}
	}
	if err := b.edit(Configure, them, other); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a third NID: %v, want ENOSPC", err)
	}
	b = newBench(t, Limits{MaxNIDs: 3})
	b.meet(other)
	b.meet(them)
	b.meet(far)
	if err := b.edit(Configure, them, also); err != nil || b.m.peers.of(other) != nil || b.m.peers.of(far) == nil {
		t.Errorf("a table full of idle peers: %v", err)
	}
	if err := b.edit(Configure, other); err != nil || b.m.peers.of(far) != nil {
		t.Errorf("a table with one idle peer: %v", err)
	}
	b.step(Input{Kind: Configure, Edit: 7, NID: far})
	if err := b.out.Edited[0].Err; !errors.Is(err, syscall.ENOSPC) || len(b.m.peers.byNID) != 3 {
		t.Errorf("a full table: %v, want ENOSPC", err)
	}
}

// TestConfiguredWins: infos of a configured peer change the statuses of its NIDs and nothing
// else, whatever they list and also after a restart; other peers do not get its NIDs.
func TestConfiguredWins(t *testing.T) {
	b := newBench(t, Limits{})
	if err := b.edit(Configure, them, also); err != nil {
		t.Fatal(err)
	}
	b.step(discover(them))
	down := info(full, 9, them, other)
	down.NIs[0].Status = wire.StatusDown
	in := b.reply(down)
	in.Incarnation = 1
	b.step(in)
	for _, push := range []wire.PingInfo{info(plain, 2, them), info(off, 3, them), info(full, 1, them)} {
		in := pushFrom(them, push)
		in.Incarnation = 2
		b.step(in)
	}
	b.settle(info(full, 4, them, also))
	p := b.m.peers.of(them)
	if len(p.nis) != 2 || p != b.m.peers.of(also) || !p.flags.Has(lnet.PeerMultiRail|lnet.PeerConfigured) || len(p.claimed) > 0 {
		t.Fatalf("the peer is %v, claims %v, %v", p.nis, p.claimed, p.flags)
	}
	if p.nis[0].Status != wire.StatusUp {
		t.Error("an info of the new incarnation was taken for an old one")
	}
	b.step(discover(other))
	b.settle(info(full, 2, other, also))
	if b.m.peers.of(also) != p {
		t.Error("a discovered peer got a configured NID")
	}
	b.step(Input{Kind: Forget, NID: them})
	if b.m.peers.of(them) != p {
		t.Error("a configured peer was forgotten because it was idle")
	}
}

// TestConfigureTakes: an administrator configures a peer with two NIDs, while a message waits for the discovery of
// the first one. The second NID moves from the discovered peer that had it, and which keeps its other NID.
func TestConfigureTakes(t *testing.T) {
	b := newBench(t, Limits{})
	b.meet(them, also)
	b.step(discover(other))
	if err := b.edit(Configure, other, also); err != nil {
		t.Fatal(err)
	}
	if p := b.m.peers.of(them); len(p.nis) != 1 || p.flags.Has(lnet.PeerConfigured) {
		t.Errorf("the discovered peer has %v, %v", p.nis, p.flags)
	}
	if p := b.m.peers.of(also); p != b.m.peers.of(other) || len(p.nis) != 2 {
		t.Errorf("the configured peer has %v", p.nis)
	}
	if err := b.edit(Configure, also); !errors.Is(err, syscall.EEXIST) {
		t.Errorf("the second NID as a primary one: %v", err)
	}
}

// TestConfigureRandom mixes the changes of administrators with discovery; the harness checks
// the invariants of each step.
func TestConfigureRandom(t *testing.T) {
	for seed := range uint64(20) {
		b, r := newBench(t, Limits{MaxNIDs: 6}), rand.New(rand.NewPCG(seed, 0))
		ids := []nid.NID{them, also, other, nid.MustParse("10.0.0.8@tcp"), nid.MustParse("10.1.0.8@tcp1"), nid.MustParse("10.0.0.9@tcp")}
		some := func() []nid.NID {
			r.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
			return append([]nid.NID(nil), ids[:1+r.IntN(3)]...)
		}
		for range 300 {
			list := some()
			switch r.IntN(8) {
			case 0, 1:
				b.edit(Configure, list...)
			case 2:
				b.edit(Deconfigure, list...)
			case 3:
				b.step(discover(list[0]))
			case 4:
				in := pushFrom(list[0], info(full, r.Uint32N(5), list...))
				in.Incarnation = r.Uint64N(3)
				b.step(in)
			case 5:
				b.step(pushFrom(list[0], info(off, r.Uint32N(5), list...)))
			case 6:
				b.settle(info(full, r.Uint32N(5), list...))
			default:
				b.now += time.Duration(r.IntN(3)) * time.Second
				b.step(Input{})
			}
		}
	}
}
