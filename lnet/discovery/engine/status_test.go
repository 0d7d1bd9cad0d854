package engine

import (
	"encoding/hex"
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// status is the latest status of a NID that b published.
func (b *bench) status(id nid.NID) wire.Status {
	if p := b.m.peers.of(id); p != nil {
		for _, ni := range p.nis {
			if ni.NID == id {
				return ni.Status
			}
		}
	}
	return wire.StatusInvalid
}

// TestPushAvoidsDeadRails: a push neither leaves from an NI of ours whose link is down, nor
// goes to a NID that the peer reports as down, even though the peer's last message used them.
func TestPushAvoidsDeadRails(t *testing.T) {
	spec.Covers(t, "NS-2")
	b := newBench(t, Limits{})
	b.meet(them, also)
	heard := func(sequence uint32, at nid.NID, down ...nid.NID) {
		i := info(full, sequence, them, also)
		for k := range i.NIs {
			for _, id := range down {
				if i.NIs[k].NID == id {
					i.NIs[k].Status = wire.StatusDown
				}
			}
		}
		b.step(pushFrom(at, i))
	}
	change := func(sequence uint32, down ...nid.NID) []string {
		return b.step(Input{Kind: SelfIs, Self: Self{Sequence: sequence, NIDs: ours, Down: down, Discovery: true}})
	}
	const sent = "10.0.0.2@tcp 10.1.0.2@tcp1: MULTI_RAIL|DISCOVERED|NIDS_UPTODATE|PUSH_SENT"
	heard(3, also)
	b.want(change(3), sent, "push 10.1.0.2@tcp1 from 10.0.0.1@tcp")
	b.step(b.ack())
	heard(4, also)
	b.want(change(4, us), sent, "push 10.0.0.2@tcp")
	b.step(b.ack())
	heard(5, also, also)
	b.want(change(5), sent, "push 10.0.0.2@tcp")
}

// TestStatusDuringExchange: the statuses that a peer pushes count at once, even while a ping or push to that
// peer has no answer.
func TestStatusDuringExchange(t *testing.T) {
	spec.Covers(t, "NS-2", "PD-11")
	for name, open := range map[string]Input{"push": selfIs(3), "ping": {Kind: Refresh, NID: them}} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, Limits{})
			b.meet(them, also)
			b.step(open)
			down := info(full, 3, them, also)
			down.NIs[0].Status = wire.StatusDown
			b.step(pushFrom(also, down))
			if got := b.status(them); got != wire.StatusDown || len(b.open) != 1 {
				t.Errorf("%v is %v, open %v", them, got, b.open)
			}
			b.settle(down)
			if p := b.m.peers.of(them); !p.flags.UpToDate() || b.status(them) != wire.StatusDown {
				t.Errorf("after the answer: %v, %v is %v", p.flags, them, b.status(them))
			}
		})
	}
}

// TestOldInfoOverAnotherRail: an old info of a node arrives from one of its NIDs after a newer
// info has arrived from another one. The old info changes nothing.
func TestOldInfoOverAnotherRail(t *testing.T) {
	spec.Covers(t, "PD-20", "NS-2")
	b := newBench(t, Limits{})
	b.meet(them, also)
	push := func(at nid.NID, incarnation uint64, sequence uint32, s wire.Status) {
		in := pushFrom(at, info(full, sequence, them, also))
		in.Incarnation = incarnation
		in.Info.NIs[0].Status = s
		b.step(in)
	}
	push(them, 7, 5, wire.StatusUp)
	push(also, 9, 6, wire.StatusDown)
	push(them, 7, 5, wire.StatusUp)
	if got := b.status(them); got != wire.StatusDown {
		t.Errorf("%v is %v by an old info, want %v", them, got, wire.StatusDown)
	}
	push(them, 7, 6, wire.StatusUp)
	if got := b.status(them); got != wire.StatusUp {
		t.Errorf("%v is %v by an info as new, want %v", them, got, wire.StatusUp)
	}
	push(them, 8, 2, wire.StatusDown)
	if got := b.status(them); got != wire.StatusDown {
		t.Errorf("%v is %v after a restart, want %v", them, got, wire.StatusDown)
	}
}

// TestRecordedLinkDown uses the infos of a kernel node from the recording tcp-mr-link-down. The
// node sent one when one of its two NIs lost its carrier, and another one when the carrier was
// back. The kernel still says DOWN in the second info.
func TestRecordedLinkDown(t *testing.T) {
	spec.Covers(t, "NS-1")
	first, second := nid.MustParse("10.88.0.3@tcp"), nid.MustParse("10.88.0.103@tcp")
	b := newBench(t, Limits{})
	for _, c := range []struct {
		from nid.NID
		info string
		want wire.Status
	}{
		{second, "676e69701e0000003930000003000000000000000000090008000000000000000300580a00000200dec0aa15000000006700580a00000200dec0aa1500000000", wire.StatusUp},
		{first, "676e69701e0000003930000003000000000000000000090009000000000000000300580a00000200dec0aa15000000006700580a00000200cefaadde00000000", wire.StatusDown},
		{second, "676e69701e000000393000000300000000000000000009000a000000000000000300580a00000200dec0aa15000000006700580a00000200cefaadde00000000", wire.StatusDown},
	} {
		bytes, err := hex.DecodeString(c.info)
		if err != nil {
			t.Fatal(err)
		}
		i, _, err := wire.ParsePingInfo(bytes)
		if err != nil {
			t.Fatal(err)
		}
		b.step(pushFrom(c.from, i))
		b.settle(i)
		if f, s := b.status(first), b.status(second); f != wire.StatusUp || s != c.want {
			t.Errorf("push %d: %v and %v, want up and %v", i.Sequence, f, s, c.want)
		}
	}
	if p := b.m.peers.of(second); p.primary != first {
		t.Errorf("primary %v, want %v", p.primary, first)
	}
}

// TestStatusOfAnother: statuses that a node reports for NIDs of other nodes change nothing.
func TestStatusOfAnother(t *testing.T) {
	spec.Covers(t, "NS-6")
	for name, features := range map[string]wire.Features{"multi-rail": full, "single-rail": off &^ wire.FeatureMultiRail} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, Limits{})
			b.meet(them, also)
			lie := info(features, 9, other, them, also)
			for i := range lie.NIs {
				lie.NIs[i].Status = wire.StatusDown
			}
			b.step(discover(other))
			b.settle(info(full, 2, them, also), lie)
			b.step(pushFrom(other, lie))
			b.settle(info(full, 2, them, also), lie)
			if got := b.status(them); got != wire.StatusUp {
				t.Errorf("%v is %v, want up", them, got)
			}
			if got := b.status(also); got != wire.StatusUp {
				t.Errorf("%v is %v, want up", also, got)
			}
			if got := b.status(other); got != wire.StatusDown {
				t.Errorf("%v is %v, want down: that is its own word", other, got)
			}
		})
	}
}

// TestStatusFlood: a peer that changes its statuses a thousand times causes a merge each
// time, but no message and no further memory, and the last status counts.
func TestStatusFlood(t *testing.T) {
	spec.Covers(t, "NS-11")
	b := newBench(t, Limits{})
	b.meet(them, also, more)
	before, last := b.m.Stats(), info(full, 0)
	for i := range 1000 {
		last = info(full, uint32(3+i/2), them, also, more)
		for k := range last.NIs {
			if i>>k&1 == 0 {
				last.NIs[k].Status = wire.StatusDown
			}
		}
		b.step(pushFrom(them, last))
		if len(b.out.Sends) > 0 || len(b.out.Peers) > 1 {
			t.Fatalf("push %d causes %v", i, b.did())
		}
	}
	after := b.m.Stats()
	if after.Pings != before.Pings || after.Pushes != before.Pushes || after.Probes != before.Probes || len(b.m.peers.byNID) != 3 {
		t.Errorf("counters %+v, were %+v", after, before)
	}
	for _, ni := range last.NIs {
		if got := b.status(ni.NID); got != ni.Status {
			t.Errorf("%v is %v, want %v", ni.NID, got, ni.Status)
		}
	}
}

// TestAllDown: a peer that calls all of its NIDs down still gets pushes.
func TestAllDown(t *testing.T) {
	spec.Covers(t, "NS-5")
	b := newBench(t, Limits{})
	b.meet(them, also)
	i := info(full, 3, them, also)
	for k := range i.NIs {
		i.NIs[k].Status = wire.StatusDown
	}
	b.step(pushFrom(also, i))
	b.step(Input{Kind: SelfIs, Self: Self{Sequence: 3, NIDs: ours, Discovery: true}})
	if len(b.out.Sends) != 1 || !b.out.Sends[0].Push || b.out.Sends[0].To != them {
		t.Errorf("the change of ours causes %v, want a push to its primary NID", b.did())
	}
}
