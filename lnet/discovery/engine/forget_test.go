package engine

import (
	"testing"

	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// TestForget: a peer that lnet has forgotten is removed with all its NIDs, and is discovered
// again later; a peer whose discovery is in progress is not removed.
func TestForget(t *testing.T) {
	b := newBench(t, Limits{})
	b.step(discover(them))
	b.want(b.step(Input{Kind: Forget, NID: them}), []string{}...)
	b.settle(info(full, 2, them, also))
	b.want(b.step(Input{Kind: Forget, NID: them}), "gone 10.0.0.2@tcp", "gone 10.1.0.2@tcp1")
	b.want(b.step(Input{Kind: Forget, NID: them}), []string{}...)
	b.want(b.step(discover(them)), "10.0.0.2@tcp: DISCOVERING|PING_SENT", "ping 10.0.0.2@tcp 272")
}

// TestForgetMany: after many peers were forgotten, the memory that the table used for them is free again.
func TestForgetMany(t *testing.T) {
	b := newBench(t, Limits{})
	const crowd = 3 * shrinkAt
	numbered := func(i int) nid.NID { return nid.FromNumber(them.Net(), 0x0B000000+uint32(i)) }
	for i := range crowd {
		b.m.meet(numbered(i), &b.out)
	}
	before := b.m.peers.byNID
	for i := range crowd {
		b.m.forgets(numbered(i), &b.out)
	}
	if len(b.m.peers.byNID) != 0 || b.m.peers.forgotten >= shrinkAt {
		t.Errorf("%d peers left, %d forgotten since the table was made", len(b.m.peers.byNID), b.m.peers.forgotten)
	}
	before[them] = nil
	if len(b.m.peers.byNID) != 0 {
		t.Error("the table is the one that the crowd has filled")
	}
}

// TestNothingStays: a peer that is not multi-rail, or has turned its discovery off, leaves nothing in the table in
// the end, whatever it has pushed. Only the count of its recent probes is kept, for as long as the limit of probes
// applies to the peer.
func TestNothingStays(t *testing.T) {
	for name, infos := range map[string][]wire.PingInfo{
		"not multi-rail":                    {info(plain, 2, them)},
		"discovery turned off":              {info(full, 2, them), info(off, 3, them)},
		"discovery turned off, with claims": {info(full, 2, them, other), info(off, 3, them, other)},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, Limits{})
			for range 3 {
				for _, i := range infos {
					b.step(pushFrom(them, i))
					b.settle(i)
				}
			}
			end := b.now + (probeBurst+1)*probeInterval
			for b.wake <= end {
				b.now = b.wake
				b.step(Input{})
			}
			if len(b.m.peers.byNID) > 0 || len(b.m.peers.inOrder()) > 0 {
				t.Errorf("%d NIDs and %d peers are left", len(b.m.peers.byNID), len(b.m.peers.inOrder()))
			}
		})
	}
}
