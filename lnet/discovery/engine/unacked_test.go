package engine

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/machine"
)

// TestPushAckedLate: nothing waits for a push, so its exchange ends early. The ACK comes only after that. The
// ACK counts nevertheless: it ends the repetitions of the push, and a repetition that is under way.
func TestPushAckedLate(t *testing.T) {
	spec.Covers(t, "PD-27")
	for name, c := range map[string]struct {
		after  time.Duration
		pushes int
	}{"beside the second": {4 * time.Second, 2}, "beside the third": {8 * time.Second, 3}, "between two": {17 * time.Second, 4}} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, Limits{})
			b.meet(them)
			b.step(selfIs(3))
			pushes := []Input{b.ack()}
			sentAt := map[uint64]time.Duration{b.last.Exchange: 0}
			for at := time.Second; at < 150*time.Second; at += time.Second {
				for _, s := range b.until(at) {
					b.last = s
					pushes, sentAt[s.Exchange] = append(pushes, b.ack()), at
				}
				for _, s := range slices.Clone(b.open) {
					if ack := pushes[slices.IndexFunc(pushes, func(in Input) bool { return in.Exchange == s.Exchange })]; at >= sentAt[s.Exchange]+c.after {
						if b.step(ack); len(b.open) > 0 {
							t.Errorf("open after the ACK: %v", b.open)
						}
					}
				}
			}
			if p := b.m.peers.of(them); len(pushes) != c.pushes || p.acked != 3 || len(b.open) > 0 || b.wake != machine.Never {
				t.Errorf("%d pushes, want %d; acknowledged: %d, open %v", len(pushes), c.pushes, p.acked, b.open)
			}
		})
	}
}

// TestUnackedCancelled: a push whose exchange has ended is cancelled when its ACK has not come within the timeout of the
// exchange, before LNet gives it up. A timeout that is lowered meanwhile counts, too.
func TestUnackedCancelled(t *testing.T) {
	spec.Covers(t, "PD-27", "PD-17")
	for name, c := range map[string]struct{ at, timeout, ends time.Duration }{
		"timeout":                   {ends: 93 + 150},
		"lowered timeout":           {at: 100, timeout: 50, ends: 93 + 50},
		"raised timeout":            {at: 100, timeout: 1000, ends: 93 + 150},
		"lowered below the present": {at: 100, timeout: 5, ends: 100},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, Limits{})
			b.meet(them)
			b.step(selfIs(3))
			if c.at > 0 {
				b.until(c.at * time.Second)
				b.step(Input{Kind: LimitIs, Timeout: c.timeout * time.Second})
			}
			b.until(max(b.now, c.ends*time.Second-1))
			if ended := len(b.open) == 0; ended != (b.now == c.ends*time.Second) {
				t.Errorf("at %v: open %v", b.now, b.open)
			}
			b.until(c.ends * time.Second)
			if len(b.open) > 0 {
				t.Errorf("at %v: open %v", b.now, b.open)
			}
			if sent := b.until(time.Hour); len(sent) > 0 || b.wake != machine.Never {
				t.Errorf("later the machine sends %v, next input at %v", sent, b.wake)
			}
			if b.step(selfIs(4)); len(b.open) != 1 {
				t.Errorf("the next news: open %v", b.open)
			}
		})
	}
}

// TestUnackedGivenUp: no ACK comes for a push, and the machine has stopped repeating the push. Then its agent
// reports that the push has failed. The machine gives no output for that, and can send the peer another push.
func TestUnackedGivenUp(t *testing.T) {
	spec.Covers(t, "PD-27")
	b := newBench(t, Limits{})
	b.meet(them)
	b.step(selfIs(3))
	b.until(100 * time.Second)
	if len(b.open) != 1 {
		t.Fatalf("after the last repetition: %v", b.open)
	}
	if did := b.step(Input{Kind: Failed, Exchange: b.last.Exchange, Err: syscall.ETIMEDOUT}); len(did) > 0 {
		t.Errorf("after its failure: %v", did)
	}
	if b.step(selfIs(4)); len(b.open) != 1 || !b.open[0].Push || b.m.Stats().Late != 0 {
		t.Errorf("after the next news: %v", b.open)
	}
}
