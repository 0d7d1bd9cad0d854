package engine

import (
	"math"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// TestTimeouts (PD-17): a ping and a push that get no answer, and that something waits for, are given up after
// Limits.Timeout, and the discovery of the peer fails.
func TestTimeouts(t *testing.T) {
	spec.Covers(t, "PD-17")
	b := newBench(t, Limits{Timeout: time.Minute})
	b.step(discover(them))
	b.until(time.Minute - 1)
	if b.wake != time.Minute || len(b.open) != 2 {
		t.Fatalf("wakes at %v, want 1m; open %v", b.wake, b.open)
	}
	b.now = time.Minute
	b.want(b.step(Input{}), "cancel", "cancel", "10.0.0.2@tcp: FORCE_PING", "done 10.0.0.2@tcp: connection timed out")
	b.want(b.step(discover(them)), "10.0.0.2@tcp: DISCOVERING|PING_SENT", "ping 10.0.0.2@tcp 272")
	b.step(b.reply(info(full, 2, them)))
	b.now += time.Minute
	b.want(b.step(Input{}), "cancel", "10.0.0.2@tcp: MULTI_RAIL|NIDS_UPTODATE", "done 10.0.0.2@tcp: connection timed out")
	if s := b.m.Stats(); s.Timeouts != 2 || b.wake != machine.Never {
		t.Errorf("counters %+v, wakes at %v", s, b.wake)
	}
}

// TestEndlessTimeout: with the longest Timeout, whose end lies beyond the range of the clock, an exchange does not end.
func TestEndlessTimeout(t *testing.T) {
	b := newBench(t, Limits{Timeout: math.MaxInt64})
	b.now = time.Second
	b.step(discover(them))
	if b.until(time.Hour); len(b.open) == 0 || b.m.Stats().Timeouts > 0 {
		t.Errorf("open %v", b.open)
	}
}

// TestInFlight: when as many exchanges as allowed are in progress, further peers wait.
func TestInFlight(t *testing.T) {
	b := newBench(t, Limits{MaxInFlight: 2, Timeout: time.Minute})
	b.step(discover(them))
	first := b.last
	b.step(discover(also))
	b.want(b.step(discover(more)), "10.2.0.2@tcp2: DISCOVERING")
	b.want(b.step(discover(other)), "10.0.0.3@tcp: DISCOVERING")
	b.want(b.step(Input{Kind: Failed, Exchange: first.Exchange, Err: syscall.EIO}),
		"10.0.0.2@tcp: FORCE_PING", "10.2.0.2@tcp2: DISCOVERING|PING_SENT", "done 10.0.0.2@tcp: input/output error", "ping 10.2.0.2@tcp2 272")
	b.now = time.Minute
	b.step(Input{})
	if len(b.out.Done) != 2 || len(b.out.Sends) != 1 || b.last.To != other {
		t.Errorf("when both have timed out: %+v", b.out)
	}
}

// TestUrgent: a peer for which a call waits is served before those that only get a push.
func TestUrgent(t *testing.T) {
	b := newBench(t, Limits{MaxInFlight: 1})
	b.meet(them)
	b.meet(also)
	b.meet(more)
	b.step(Input{Kind: SelfIs, Self: Self{Sequence: 3, NIDs: ours, Discovery: true}})
	b.step(Input{Kind: Refresh, NID: more})
	b.step(b.ack())
	if b.last.To != more || b.last.Push {
		t.Errorf("after %v comes %v, want %v", them, b.last.To, more)
	}
	b.step(b.reply(info(full, 2, more)))
	if b.last.To != more || !b.last.Push {
		t.Errorf("after the ping comes %+v, want a push to %v", b.last, more)
	}
	b.step(b.ack())
	if b.last.To != also {
		t.Errorf("last comes %v, want %v", b.last.To, also)
	}
	b.want(b.step(b.ack()), "10.1.0.2@tcp1: "+upToDate)
}

// TestTableFull: when the table is full idle peers are removed, and those being discovered
// are not.
func TestTableFull(t *testing.T) {
	b := newBench(t, Limits{MaxNIDs: 2})
	b.meet(them)
	b.step(discover(also))
	b.want(b.step(discover(more)), "gone 10.0.0.2@tcp", "10.2.0.2@tcp2: DISCOVERING|PING_SENT", "ping 10.2.0.2@tcp2 272")
	b.want(b.step(discover(other)), "done 10.0.0.3@tcp: no buffer space available")
	b.want(b.step(b.reply(info(full, 2, more, them))),
		"10.2.0.2@tcp2 (10.0.0.2@tcp): MULTI_RAIL|DISCOVERING|NIDS_UPTODATE|PUSH_SENT",
		"push 10.2.0.2@tcp2 from 10.0.0.1@tcp", "ping 10.0.0.2@tcp 272")
	b.want(b.step(b.reply(info(full, 2, more, them))), []string{}...)
	if s := b.m.Stats(); s.TableFull != 2 {
		t.Errorf("counters %+v", s)
	}
}

// TestSelf (PD-13) checks which peers get a push when our NIs change, and by which path.
func TestSelf(t *testing.T) {
	spec.Covers(t, "PD-13")
	b := newBench(t, Limits{})
	b.meet(them)
	b.step(discover(other))
	b.step(b.reply(info(off, 2, other)))
	b.want(b.step(Input{Kind: SelfIs, Self: Self{Sequence: 2, Discovery: true}}), []string{}...)
	b.want(b.step(Input{Kind: SelfIs, Self: Self{Sequence: 3, NIDs: []nid.NID{also}, Discovery: true}}),
		"10.0.0.2@tcp: MULTI_RAIL|DISCOVERED|NIDS_UPTODATE|PUSH_SENT", "push 10.0.0.2@tcp")
	// The info changes during the push, so another push follows.
	before := b.ack()
	b.step(Input{Kind: SelfIs, Self: Self{Sequence: 4, NIDs: []nid.NID{also}, Discovery: true}})
	b.want(b.step(before), "10.0.0.2@tcp: MULTI_RAIL|DISCOVERED|NIDS_UPTODATE|PUSH_SENT", "push 10.0.0.2@tcp")
	b.want(b.step(b.ack()), "10.0.0.2@tcp: "+upToDate)
}

// TestTurnedOff: when discovery is turned off here, peers are told. Peers that become known while it
// is off are pinged again for the first message after it is turned on.
func TestTurnedOff(t *testing.T) {
	b := newBench(t, Limits{})
	b.meet(them)
	b.want(b.step(Input{Kind: SelfIs, Self: Self{Sequence: 3, NIDs: ours}}),
		"10.0.0.2@tcp: MULTI_RAIL|DISCOVERED|NIDS_UPTODATE|PUSH_SENT", "push 10.0.0.2@tcp")
	b.step(b.ack())
	b.step(Input{Kind: Refresh, NID: other})
	b.want(b.step(b.reply(info(full, 2, other, also))),
		"10.0.0.3@tcp: NO_DISCOVERY|DISCOVERED|REDISCOVER|NIDS_UPTODATE", "done 10.0.0.3@tcp")
	b.step(Input{Kind: SelfIs, Self: Self{Sequence: 4, NIDs: ours, Discovery: true}})
	b.step(b.ack())
	b.want(b.step(discover(other)), "10.0.0.3@tcp: NO_DISCOVERY|DISCOVERED|REDISCOVER|DISCOVERING|PING_SENT", "ping 10.0.0.3@tcp 272")
}

// TestAnything: no random input, valid or not, breaks an invariant, and the end of each discovery that was
// asked for is reported exactly once.
func TestAnything(t *testing.T) {
	effort.OneGoroutine(t)
	ids := []nid.NID{them, also, more, other, us}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		b := newBench(t, Limits{MaxInFlight: 2, MaxNIDs: 4, Timeout: time.Second})
		some := func() nid.NID { return ids[r.IntN(len(ids))] }
		waits := map[nid.NID]bool{}
		for i := range uint32(200) {
			in := Input{
				Kind: Kind(r.IntN(int(Pushed) + 1)), NID: some(), Force: r.IntN(4) == 0,
				Exchange: b.m.last - uint64(r.IntN(3)), Local: us, Remote: some(), Known: r.IntN(4) > 0,
				Info: info([]wire.Features{full, full, plain, off}[r.IntN(4)], i, some(), some()),
				Self: Self{Sequence: i/8 + 2, NIDs: ours, Discovery: r.IntN(4) > 0}, Sequence: b.m.self.Sequence,
			}
			switch r.IntN(6) {
			case 0:
				in.Err = syscall.EIO
			case 1:
				in.Need = r.IntN(10000)
			}
			if in.Kind == Failed {
				in.Err = syscall.EIO
			}
			if in.Kind == Discover || in.Kind == Refresh {
				waits[in.NID] = true
			}
			b.step(in)
			b.now += time.Duration(r.IntN(100)) * time.Millisecond
			for _, d := range b.out.Done {
				if !waits[d.NID] {
					t.Fatalf("seed %d: %v is told twice", seed, d.NID)
				}
				delete(waits, d.NID)
			}
		}
		for i := 0; len(waits) > 0 && i < 20; i++ {
			b.now += time.Second
			b.step(Input{})
			for _, d := range b.out.Done {
				delete(waits, d.NID)
			}
		}
		if len(waits) > 0 {
			t.Fatalf("seed %d: never told: %v", seed, waits)
		}
	}
}

// TestTimeoutLowered: a new timeout that is shorter counts for exchanges under way too, from their beginning. A longer one
// does not lengthen them.
func TestTimeoutLowered(t *testing.T) {
	spec.Covers(t, "PD-17")
	for name, test := range map[string]struct{ first, then, ends time.Duration }{
		"lowered":              {100 * time.Second, 60 * time.Second, 60 * time.Second},
		"lowered too late":     {100 * time.Second, 10 * time.Second, 50 * time.Second},
		"raised":               {300 * time.Second, 200 * time.Second, 150 * time.Second},
		"raised, then lowered": {300 * time.Second, 100 * time.Second, 100 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, Limits{})
			b.meet(them, also)
			b.step(Input{Kind: Refresh, NID: them})
			b.until(20 * time.Second)
			b.step(Input{Kind: LimitIs, Timeout: test.first})
			b.until(50 * time.Second)
			b.step(Input{Kind: LimitIs, Timeout: test.then})
			b.until(max(b.now, test.ends-1))
			if ended := len(b.open) == 0; ended != (test.ends <= b.now) {
				t.Errorf("ended at %v: %v", b.now, ended)
			}
			if b.until(test.ends); len(b.open) > 0 {
				t.Errorf("open at %v: %v", b.now, b.open)
			}
		})
	}
}
