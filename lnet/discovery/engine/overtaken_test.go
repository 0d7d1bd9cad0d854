package engine

import (
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// far is the NID of a node behind gateways: the incarnation of its infos is not known.
var far = nid.MustParse("10.5.0.2@tcp5")

// farBench returns a machine that knows the node at far by an info with sequence number 5. The function
// at returns an info of that node.
func farBench(t *testing.T) (b *bench, at func(sequence uint32, s wire.Status) wire.PingInfo) {
	t.Helper()
	b = newBench(t, Limits{})
	b.step(Input{Kind: RoutesAre, Gateways: []nid.NID{them}, Beyond: []nid.Net{far.Net()}})
	at = func(sequence uint32, s wire.Status) wire.PingInfo {
		i := info(full, sequence, far)
		i.NIs[0].Status = s
		return i
	}
	b.step(pushFrom(far, at(5, wire.StatusUp)))
	b.settle(at(5, wire.StatusUp))
	return b, at
}

// TestOvertakenPush: of two pushes that come by two gateways the newer one may come first. The
// older one changes nothing, and its sender is pinged, because that node may have started again.
func TestOvertakenPush(t *testing.T) {
	spec.Covers(t, "PD-26")
	for name, c := range map[string]struct {
		answer wire.PingInfo
		want   wire.Status
	}{
		"overtaken": {info(full, 6, far), wire.StatusUp},
		"restarted": {info(full, 3, far), wire.StatusUp},
	} {
		b, at := farBench(t)
		b.step(pushFrom(far, at(6, wire.StatusDown)))
		b.settle(at(6, wire.StatusDown))
		b.step(pushFrom(far, at(4, wire.StatusUp)))
		if got := b.status(far); got != wire.StatusDown || b.m.Stats().OldInfos != 1 {
			t.Errorf("%s: %v by an old info, %d were counted", name, got, b.m.Stats().OldInfos)
		}
		if len(b.open) != 1 || b.open[0].Push || b.open[0].To != far {
			t.Fatalf("%s: %+v is open, want a ping", name, b.open)
		}
		b.step(b.reply(c.answer))
		b.settle(c.answer)
		if got := b.status(far); got != c.want {
			t.Errorf("%s: %v after the answer, want %v", name, got, c.want)
		}
		b.step(pushFrom(far, at(c.answer.Sequence, wire.StatusDown)))
		b.settle(at(c.answer.Sequence, wire.StatusDown))
		if got := b.status(far); got != wire.StatusDown {
			t.Errorf("%s: %v after a push that is as new as the answer", name, got)
		}
	}
}

// TestOvertakenReply: a push overtakes the answer to a ping, which is older and changes nothing.
func TestOvertakenReply(t *testing.T) {
	spec.Covers(t, "PD-26")
	b, at := farBench(t)
	b.step(Input{Kind: Refresh, NID: far, Force: true})
	reply := b.reply(at(5, wire.StatusUp))
	b.step(pushFrom(far, at(6, wire.StatusDown)))
	b.step(reply)
	b.settle(at(6, wire.StatusDown))
	if got := b.status(far); got != wire.StatusDown {
		t.Errorf("%v by an old answer", got)
	}
	if got := b.m.Stats().OldInfos; got != 1 {
		t.Errorf("%d old infos were counted, want 1", got)
	}
}

// TestOvertakenReplyBesideProbe: a REPLY is older than a push, and another peer has claimed the NID after the
// push, so that the NID was probed as well. The REPLY changes nothing all the same.
func TestOvertakenReplyBesideProbe(t *testing.T) {
	spec.Covers(t, "PD-26")
	b, at := farBench(t)
	b.step(Input{Kind: Refresh, NID: far, Force: true})
	reply := b.reply(at(5, wire.StatusUp))
	b.step(pushFrom(far, at(6, wire.StatusDown)))
	b.step(discover(other))
	b.step(b.reply(info(full, 2, other, far)))
	if b.m.Stats().Probes != 1 {
		t.Fatal("the claim was not probed")
	}
	b.step(reply)
	if got := b.status(far); got != wire.StatusDown {
		t.Errorf("%v by an old answer", got)
	}
}

// TestOvertakenProbe: a push overtakes the answer to a probe of the same incarnation. The claim is probed
// anew at once, and the overtaken answer does not count as a try without an answer.
func TestOvertakenProbe(t *testing.T) {
	spec.Covers(t, "PD-20")
	b := newBench(t, Limits{})
	push := func(sequence uint32) Input {
		in := pushFrom(them, info(full, sequence, them, also))
		in.Incarnation = 1
		return in
	}
	b.step(push(5))
	answer := b.reply(info(full, 5, them, also)) // the answer to the latest message of the machine, which is the probe of the NID in the variable also
	answer.Incarnation = 2
	probes := b.m.Stats().Probes
	b.step(push(6))
	b.step(answer)
	if r := b.m.peers.of(them).rail(also); r.tries != 0 || r.state != probing || b.m.Stats().Probes != probes+1 {
		t.Fatalf("after the answer: %+v, %d probes", *r, b.m.Stats().Probes)
	}
	answer = b.reply(info(full, 6, them, also))
	answer.Incarnation = 2
	if b.step(answer); b.m.peers.of(also) != b.m.peers.of(them) {
		t.Error("the answer to the second probe did not confirm the claim")
	}
}

// TestPushAfterFarRestart: a node behind gateways has started again: its answer to a ping has a lower sequence number
// than an earlier one. The node gets one more push.
func TestPushAfterFarRestart(t *testing.T) {
	spec.Covers(t, "PD-12", "PD-26")
	b, at := farBench(t)
	b.step(Input{Kind: Refresh, NID: far})
	b.settle(at(5, wire.StatusUp))
	before := b.m.Stats().Pushes
	b.step(Input{Kind: Refresh, NID: far})
	b.settle(at(2, wire.StatusUp))
	if n := b.m.Stats().Pushes; n != before+1 {
		t.Errorf("%d pushes after the restart, want one", n-before)
	}
}
