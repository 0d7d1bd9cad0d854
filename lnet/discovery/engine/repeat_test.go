package engine

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// until lets time pass, and returns the messages that the machine sends meanwhile.
func (b *bench) until(at time.Duration) (sent []Send) {
	b.t.Helper()
	for b.wake <= at {
		b.now = b.wake
		b.step(Input{})
		sent = append(sent, b.out.Sends...)
	}
	b.now = at
	return sent
}

// TestPushRepeated: a push without an answer is sent again, to the next NID of the peer, five times in all. Messages
// to the peer are not held meanwhile.
func TestPushRepeated(t *testing.T) {
	spec.Covers(t, "PD-27", "NS-2")
	b := newBench(t, Limits{})
	b.meet(them, also)
	b.want(b.step(selfIs(3)), "10.0.0.2@tcp 10.1.0.2@tcp1: "+upToDate+"|PUSH_SENT", "push 10.0.0.2@tcp")
	var to []nid.NID
	for _, at := range []time.Duration{3, 9, 21, 45, 93} {
		if early := b.until(at*time.Second - 1); len(early) > 0 {
			t.Errorf("before %d s: %v", at, early)
		}
		for _, s := range b.until(at * time.Second) {
			to = append(to, s.To)
		}
		if p := b.m.peers.of(them); !b.m.shown(p).UpToDate() {
			t.Errorf("at %d s the peer is %v", at, p.flags)
		}
	}
	if want := []nid.NID{also, them, also, them, also}; !slices.Equal(to, want) {
		t.Errorf("repeated to %v, want %v", to, want)
	}
	if more := b.until(time.Hour); len(more) > 0 || b.wake != machine.Never {
		t.Errorf("after the last one: %v", more)
	}
	b.want(b.step(selfIs(4)), "10.0.0.2@tcp 10.1.0.2@tcp1: "+upToDate+"|PUSH_SENT", "push 10.0.0.2@tcp")
	if again := b.until(b.now + 3*time.Second); len(again) != 1 {
		t.Errorf("the next news are repeated by %v", again)
	}
}

// TestShortTimeout: where the time limit is short, a ping that something waits for is repeated twice before it, so that a
// lost message does not fail what waits. A push that nothing waits for is repeated as with other limits.
func TestShortTimeout(t *testing.T) {
	spec.Covers(t, "PD-27")
	b := newBench(t, Limits{Timeout: 2 * time.Second})
	b.step(discover(them))
	for _, at := range []time.Duration{500, 1500} {
		if sent := b.until(at * time.Millisecond); len(sent) != 1 || sent[0].Push || sent[0].To != them {
			t.Errorf("after %d ms: %v", at, sent)
		}
	}
	b.step(b.reply(info(full, 2, them)))
	b.step(b.ack())
	if d := b.out.Done; len(d) != 1 || d[0].Err != nil {
		t.Fatalf("after the answers: %+v", d)
	}
	b.step(selfIs(3))
	began := b.now
	for _, s := range []time.Duration{3, 9, 21, 45, 93} {
		if early := b.until(began + s*time.Second - 1); len(early) > 0 {
			t.Errorf("before %d s: %v", s, early)
		}
		if sent := b.until(began + s*time.Second); len(sent) != 1 || !sent[0].Push {
			t.Errorf("after %d s: %v", s, sent)
		}
	}
}

// TestShortTimeoutJoined: where the time limit is short, a push for which nothing waits has that time for its ACK. If a call
// comes to wait for the peer meanwhile, the machine sends again at once.
func TestShortTimeoutJoined(t *testing.T) {
	spec.Covers(t, "PD-27")
	b := newBench(t, Limits{Timeout: 2 * time.Second})
	b.meet(them)
	b.step(selfIs(3))
	if sent := b.until(time.Second); len(sent) > 0 {
		t.Errorf("after a second: %v", sent)
	}
	b.step(Input{Kind: Refresh, NID: them})
	sent := append(slices.Clone(b.out.Sends), b.until(1100*time.Millisecond)...)
	if len(sent) != 1 || sent[0].Push || b.m.Stats().Timeouts > 0 {
		t.Errorf("when a call waits: %v, %+v", sent, b.m.Stats())
	}
}

// TestPushFailed: a push that fails is sent again, like a push without an answer. After the first ACK it is
// not sent any more.
func TestPushFailed(t *testing.T) {
	spec.Covers(t, "PD-27")
	b := newBench(t, Limits{})
	b.meet(them)
	b.step(selfIs(3))
	b.step(Input{Kind: Failed, Exchange: b.last.Exchange, Err: syscall.EHOSTUNREACH})
	if sent := b.until(3 * time.Second); len(sent) != 1 || !sent[0].Push {
		t.Fatalf("after the failure: %v", sent)
	}
	b.step(b.ack())
	if sent := b.until(time.Hour); len(sent) > 0 {
		t.Errorf("after the ACK: %v", sent)
	}
}

// TestNewsDuringPush: a push that tells the peer of a change of this node is lost. Before the push is repeated, this
// node changes again. The peer learns of the second change when the push is repeated.
func TestNewsDuringPush(t *testing.T) {
	spec.Covers(t, "PD-27", "NS-2")
	for name, awaited := range map[string]bool{"nothing waits": false, "a call waits": true} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, Limits{})
			b.meet(them, also)
			if awaited {
				b.step(Input{Kind: Refresh, NID: them})
				b.step(selfIs(3))
				b.step(b.reply(info(full, 2, them, also))) // the call waits for the ACK of the push that follows
				b.until(50 * time.Second)
			} else {
				b.step(selfIs(3))
			}
			b.step(selfIs(4))
			if sent := b.until(b.now + 3*time.Second); len(sent) != 1 || !sent[0].Push {
				t.Fatalf("sent %v", sent)
			}
			b.step(b.ack())
			if p := b.m.peers.of(them); p.acked != 4 || !p.flags.UpToDate() {
				t.Errorf("the peer knows %d and is %v", p.acked, p.flags)
			}
		})
	}
}

// TestPingRepeated: a ping without an answer goes to the next NID as well. The answer to the first try counts
// however late it is.
func TestPingRepeated(t *testing.T) {
	spec.Covers(t, "PD-27")
	b := newBench(t, Limits{})
	b.meet(them, also)
	b.step(Input{Kind: Refresh, NID: them})
	first := b.reply(info(full, 2, them, also))
	if sent := b.until(9 * time.Second); len(sent) != 2 || sent[0].To != also || sent[1].To != them || len(b.open) != 2 {
		t.Fatalf("repeated by %v, open %v", sent, b.open)
	}
	b.step(Input{Kind: Failed, Exchange: b.last.Exchange, Err: syscall.EHOSTUNREACH})
	if len(b.open) != 1 || len(b.out.Done) > 0 {
		t.Fatalf("after the failure of the last try: %v, open %v", b.did(), b.open)
	}
	b.until(20 * time.Second)
	b.want(b.step(first), "10.0.0.2@tcp 10.1.0.2@tcp1: "+upToDate, "done 10.0.0.2@tcp")
	b.step(Input{Kind: Refresh, NID: them})
	b.until(b.now + 3*time.Second)
	b.want(b.step(b.reply(info(full, 2, them, also))), "cancel", "10.0.0.2@tcp 10.1.0.2@tcp1: "+upToDate, "done 10.0.0.2@tcp")
}

// TestPingRefused: if a peer has one NID only, an error there ends the exchange although an earlier try is open.
func TestPingRefused(t *testing.T) {
	spec.Covers(t, "PD-27")
	b := newBench(t, Limits{})
	b.step(discover(them))
	b.until(3 * time.Second)
	b.want(b.step(Input{Kind: Failed, Exchange: b.last.Exchange, Err: syscall.ECONNREFUSED}),
		"cancel", "10.0.0.2@tcp: FORCE_PING", "done 10.0.0.2@tcp: connection refused")
}

// TestRestartEndsExchange: a push that the earlier incarnation of a node has not answered is given up, and
// is sent to the present incarnation.
func TestRestartEndsExchange(t *testing.T) {
	spec.Covers(t, "PD-27")
	b := newBench(t, Limits{})
	b.meet(them)
	in := pushFrom(them, info(full, 5, them))
	in.Incarnation = 1
	b.step(in)
	b.step(selfIs(3))
	in.Incarnation, in.Info.Sequence = 2, 2
	b.step(in)
	if len(b.out.Cancelled) != 1 || len(b.open) != 1 || !b.open[0].Push {
		t.Errorf("the machine did %v, open %v", b.did(), b.open)
	}
}

// TestRepeatsShare: repetitions for peers that do not answer leave slots to other peers.
func TestRepeatsShare(t *testing.T) {
	spec.Covers(t, "PD-27")
	b := newBench(t, Limits{MaxInFlight: 8})
	for i := range 20 {
		b.meet(nid.MustParse(fmt.Sprintf("10.0.7.%d@tcp", i)))
	}
	b.step(selfIs(3))
	for b.until(30 * time.Second); b.wake != machine.Never; b.until(b.wake) {
		if n := b.m.inFlight[repeated]; n > 2 {
			t.Fatalf("at %v: %d repetitions under way", b.now, n)
		}
	}
	if n, want := b.m.Stats().Pushes, uint64(20+20+20*maxRepeats); n != want {
		t.Errorf("%d pushes, want %d", n, want)
	}
}

// TestFirstTryRefused: the first try of a ping fails because its connection ends. The second try, on a new
// connection, is still answered, also if the peer has one NID only.
func TestFirstTryRefused(t *testing.T) {
	spec.Covers(t, "PD-27")
	b := newBench(t, Limits{})
	b.step(discover(them))
	first := b.last.Exchange
	b.until(3 * time.Second)
	if did := b.step(Input{Kind: Failed, Exchange: first, Err: syscall.ECONNRESET}); len(did) > 0 || len(b.open) != 1 {
		t.Fatalf("after the failure of the first try: %v, open %v", did, b.open)
	}
	if b.step(b.reply(info(full, 2, them))); !b.last.Push {
		t.Errorf("after the answer to the second: %v", b.did())
	}
}

// TestTurnedOffLost: the push that tells that discovery was turned off here is repeated like others, until its ACK. The ACK of
// an earlier push does not end that.
func TestTurnedOffLost(t *testing.T) {
	spec.Covers(t, "PD-27")
	b := newBench(t, Limits{})
	b.meet(them)
	b.step(selfIs(3))
	earlier := b.ack()
	b.step(Input{Kind: SelfIs, Self: Self{Sequence: 4, NIDs: ours}})
	b.step(earlier)
	if len(b.open) != 1 || !b.open[0].Push {
		t.Fatalf("after the ACK of the earlier push: %v", b.open)
	}
	for _, at := range []time.Duration{3, 9} {
		if sent := b.until(at * time.Second); len(sent) != 1 || !sent[0].Push {
			t.Errorf("at %d s: %v", at, sent)
		}
	}
	b.step(b.ack())
	if sent := b.until(time.Hour); len(sent) > 0 {
		t.Errorf("after the ACK: %v", sent)
	}
	b.step(Input{Kind: SelfIs, Self: Self{Sequence: 5, NIDs: ours}})
	if len(b.open) > 0 {
		t.Errorf("a change while discovery is off causes %v", b.open)
	}
}
