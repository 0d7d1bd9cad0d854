package engine

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// TestRecreatedRemembersProbes: a peer that turns its discovery off and on causes no new burst of probes.
func TestRecreatedRemembersProbes(t *testing.T) {
	b := newBench(t, Limits{})
	crowd := make([]nid.NID, 0, 100)
	for i := range 100 {
		crowd = append(crowd, nid.MustParse(fmt.Sprintf("10.0.9.%d@tcp", i+1)))
	}
	for range 50 {
		b.step(pushFrom(them, info(full, 2, append(crowd, them)...)))
		b.settle(info(full, 2, them))
		for len(b.open) > 0 {
			b.step(Input{Kind: Failed, Exchange: b.open[0].Exchange, Err: syscall.EHOSTUNREACH})
		}
		b.step(pushFrom(them, info(off, 2, them)))
	}
	if n := b.m.Stats().Probes; n != probeBurst {
		t.Errorf("%d probes at once, want %d", n, probeBurst)
	}
}

// TestProbeAfterRestart: the answer to a probe shows that the node has started again. Its NID does not join what
// was known of the node before, because all later infos of that NID would then count as old.
func TestProbeAfterRestart(t *testing.T) {
	spec.Covers(t, "PD-23")
	b := newBench(t, Limits{})
	before := pushFrom(them, info(full, 9, them, also))
	before.Incarnation = 1
	b.step(before)
	after := b.reply(info(full, 2, them, also)) // the answer to the latest message of the machine, which is the probe of the NID in the variable also
	after.Incarnation = 7
	b.step(after)
	down := pushFrom(also, info(full, 3, them, also))
	down.Incarnation = 7
	down.Info.NIs[1].Status = wire.StatusDown
	b.step(down)
	if got := b.status(also); got != wire.StatusDown {
		t.Errorf("%v is %v after its push, want down", also, got)
	}
}

// TestPatiencePublished: a push to a peer is under way, and the discovery of the peer still waits for a
// probe. When that wait ends, the peer is published as up to date for messages.
func TestPatiencePublished(t *testing.T) {
	spec.Covers(t, "NS-2")
	for name, end := range map[string]func(b *bench, probe Input){
		"over": func(b *bench, _ Input) { b.now = probePatience; b.step(Input{}) },
		"fails": func(b *bench, probe Input) {
			probe.Kind, probe.Err = Failed, syscall.EHOSTUNREACH
			b.step(probe)
		},
		"denied": func(b *bench, probe Input) { b.step(probe) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, Limits{})
			b.meet(them)
			b.step(Input{Kind: Refresh, NID: them})
			b.step(b.reply(info(full, 3, them, also)))
			probe := b.reply(info(full, 3, also))
			if b.step(selfIs(3)); b.out.Peers[0].Flags.UpToDate() || !b.last.Push {
				t.Fatalf("waits for the probe: %v", b.did())
			}
			if end(b, probe); len(b.out.Peers) != 1 || !b.out.Peers[0].Flags.UpToDate() {
				t.Errorf("published %v", b.did())
			}
		})
	}
}

// TestProbeRate: the claims of a peer are probed four at a time, in a burst of 16 and then
// one a second.
func TestProbeRate(t *testing.T) {
	spec.Covers(t, "PD-22")
	b := newBench(t, Limits{})
	var crowd []nid.NID
	for i := range 190 {
		crowd = append(crowd, nid.MustParse(fmt.Sprintf("10.0.9.%d@tcp", i+1)))
	}
	b.meet(them)
	b.step(pushFrom(them, info(full, 3, append(crowd, them)...)))
	if len(b.open) != maxProbing {
		t.Errorf("%d probes at once, want %d", len(b.open), maxProbing)
	}
	deny := func() (n uint64) {
		for before := b.m.Stats().Probes; len(b.open) > 0; n = b.m.Stats().Probes - before {
			b.step(Input{Kind: Replied, Exchange: b.open[0].Exchange, Remote: b.open[0].To, Info: info(full, 1, b.open[0].To)})
		}
		return n
	}
	if n := deny() + maxProbing; n != probeBurst {
		t.Errorf("%d probes in a burst, want %d", n, probeBurst)
	}
	for b.m.Stats().Denied < 190 {
		if next := b.now + probeInterval; b.wake > next || b.wake <= b.now {
			t.Fatalf("wakes at %v, %v is now", b.wake, b.now)
		}
		b.now = b.wake
		b.step(Input{})
		deny()
	}
	if b.now > 190*probeInterval || b.now < (190-probeBurst)*probeInterval {
		t.Errorf("asked about all in %v", b.now)
	}
}

// TestSilentClaims: addresses that never answer are probed five times, at growing intervals.
// They delay the first discovery of a peer by a second.
func TestSilentClaims(t *testing.T) {
	b := newBench(t, Limits{})
	b.step(discover(them))
	b.step(b.reply(info(full, 2, them, also)))
	b.settle(info(full, 2, them))
	if len(b.out.Done) > 0 || b.wake != probePatience {
		t.Errorf("done %v, wakes at %v", b.out.Done, b.wake)
	}
	var at []time.Duration
	for b.wake < time.Hour {
		b.now = b.wake
		did := b.step(Input{})
		if b.now == probePatience && !slices.Contains(did, "done 10.0.0.2@tcp") {
			t.Errorf("after %v: %q", b.now, did)
		}
		if len(b.out.Sends) > 0 {
			at = append(at, b.now)
		}
	}
	want := fmt.Sprint([]time.Duration{7 * time.Second, 16 * time.Second, 29 * time.Second, 50 * time.Second})
	if fmt.Sprint(at) != want {
		t.Errorf("asked again at %v, want %v", at, want)
	}
	if s := b.m.Stats(); s.Unconfirmed != 1 || s.Probes != maxTries {
		t.Errorf("counters %+v", s)
	}
	b.want(b.step(pushFrom(them, info(full, 2, them, also))), "10.0.0.2@tcp (10.1.0.2@tcp1): "+upToDate, "ping 10.1.0.2@tcp1 272")
}

// TestUnreachableClaims: a NID that no NI of ours reaches is not probed until an NI reaches
// it.
func TestUnreachableClaims(t *testing.T) {
	b := newBench(t, Limits{})
	far := nid.MustParse("10.9.0.2@o2ib9")
	b.meet(them)
	b.want(b.step(pushFrom(them, info(full, 3, far, them))), "10.0.0.2@tcp (10.9.0.2@o2ib9): "+upToDate)
	self := selfIs(3)
	self.Self.NIDs = append(slices.Clone(ours), nid.MustParse("10.9.0.1@o2ib9"))
	b.step(self)
	b.settle(info(full, 3, far, them))
	if p := b.m.peers.of(far); p == nil || p.primary != far || p != b.m.peers.of(them) {
		t.Errorf("knows %+v", p)
	}
}

// TestProbesShared: the probes of many peers share one bound, and probes of one peer do not
// prevent another peer's.
func TestProbesShared(t *testing.T) {
	b := newBench(t, Limits{MaxProbes: 2})
	stranger := func(i int) nid.NID { return nid.MustParse(fmt.Sprintf("10.0.8.%d@tcp", i)) }
	for i := range 10 {
		b.step(pushFrom(stranger(i+1), info(full, 2, stranger(i+1), nid.MustParse(fmt.Sprintf("10.0.9.%d@tcp", i)), them)))
	}
	b.step(discover(them))
	b.settle(info(full, 2, them, also))
	for b.now < time.Minute && b.m.peers.of(also) == nil {
		b.now = b.wake
		b.step(Input{})
		b.settle(info(full, 2, them, also))
	}
	if b.m.peers.of(also) != b.m.peers.of(them) {
		t.Errorf("after %v beside silent claims: %v", b.now, b.m.peers.of(them).nis)
	}
}

// TestCutProbe: if the answer to a probe was cut off, and does not list the peer in the part
// that arrived, it is requested again with enough room.
func TestCutProbe(t *testing.T) {
	b := newBench(t, Limits{})
	b.meet(them)
	b.step(pushFrom(them, info(full, 3, them, also)))
	cut := b.reply(info(full, 3, also))
	cut.Need = 400
	b.step(cut)
	b.now = b.wake
	b.want(b.step(Input{}), "ping 10.1.0.2@tcp1 400")
	b.want(b.step(b.reply(info(full, 3, them, also))), "10.0.0.2@tcp 10.1.0.2@tcp1: "+upToDate)
}

// TestBackSoon: a peer that has turned its discovery off and on again is discovered like a new one, even if
// earlier probes of the peer have used up its rate of probes.
func TestBackSoon(t *testing.T) {
	b := newBench(t, Limits{})
	list := []nid.NID{them}
	for i := range 20 {
		list = append(list, nid.MustParse(fmt.Sprintf("10.0.9.%d@tcp", i+1)))
	}
	for range 6 {
		b.step(pushFrom(them, info(full, 2, list...)))
		b.settle(info(full, 2, them))
		for len(b.open) > 0 {
			b.step(Input{Kind: Failed, Exchange: b.open[0].Exchange, Err: syscall.EHOSTUNREACH})
		}
		b.step(pushFrom(them, info(off, 3, list...)))
	}
	b.now += time.Second
	b.step(Input{})
	b.step(pushFrom(them, info(full, 2, list...)))
	b.settle(info(full, 2, them))
	if b.wake > b.now+probePatience {
		t.Errorf("wakes at %v, %v is now", b.wake, b.now)
	}
	b.now += probePatience
	b.step(Input{})
	if p := b.m.peers.of(them); !p.flags.UpToDate() {
		t.Errorf("flags %v", p.flags)
	}
}

// TestLeavingRemembersProbes: a NID of a peer leaves it and comes back again and again. Neither that NID nor the one that
// stays causes another burst of probes by this.
func TestLeavingRemembersProbes(t *testing.T) {
	spec.Covers(t, "PD-22")
	for name, apart := range map[string]func(b *bench, stays nid.NID){
		"withdrawn":          func(b *bench, stays nid.NID) { b.step(pushFrom(stays, info(full, 2, stays))) },
		"discovery goes off": func(b *bench, stays nid.NID) { b.step(pushFrom(stays, info(off, 2, stays))) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, Limits{})
			victims := make([]nid.NID, 0, 15)
			for i := range 15 {
				victims = append(victims, nid.MustParse(fmt.Sprintf("10.0.9.%d@tcp", i+1)))
			}
			from, joins := them, also
			for range 20 {
				list := append(slices.Clone(victims), from, joins)
				b.step(pushFrom(from, info(full, 2, list...)))
				for range 40 {
					b.settle(info(full, 2, list[15:]...))
					for i := 0; i < len(b.open); i++ {
						if s := b.open[i]; !s.Push {
							b.step(Input{Kind: Failed, Exchange: s.Exchange, Err: syscall.EHOSTUNREACH})
						}
					}
				}
				apart(b, from)
				from, joins = joins, from
			}
			if n := b.m.Stats().Probes; n > 2*probeBurst {
				t.Errorf("%d probes at once, want %d for each NID at most", n, probeBurst)
			}
		})
	}
}

// TestTimeoutLoweredDuringProbes: a timeout that is lowered counts for the probes in progress, too, so that they end in
// the order in which they were sent.
func TestTimeoutLoweredDuringProbes(t *testing.T) {
	spec.Covers(t, "PD-17")
	b := newBench(t, Limits{})
	b.meet(them)
	b.step(pushFrom(them, info(full, 3, them, numbered(1))))
	b.now += time.Second
	b.step(Input{Kind: LimitIs, Timeout: 2 * time.Second})
	b.step(pushFrom(them, info(full, 4, them, numbered(1), numbered(2))))
	if len(b.open) != 2 {
		t.Fatalf("open: %v", b.open)
	}
	for i, at := range []time.Duration{2 * time.Second, 3 * time.Second} {
		b.until(at)
		if len(b.open) != 1-i {
			t.Errorf("at %v: %v", at, b.open)
		}
	}
}
