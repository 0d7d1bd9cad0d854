package recovery

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

var (
	mine = Target{nid.MustParse("10.0.0.1@tcp"), true}
	peer = Target{nid.MustParse("10.0.0.2@tcp"), false}
)

// bench steps the machine in virtual time.
type bench struct {
	t *testing.T
	*Machine
	now, wake time.Duration
	pings     []string
	answer    func(Target) // called for each ping, to step the machine with its outcome; nil: each ping ends at once without an answer
}

func newBench(t *testing.T, s Settings) *bench {
	return &bench{t: t, Machine: NewMachine(s), wake: machine.Never}
}

func (b *bench) step(in Input) {
	b.t.Helper()
	var out Output
	b.wake = b.Step(b.now, in, &out)
	if b.wake <= b.now {
		b.t.Fatalf("at %v wants to be woken at %v", b.now, b.wake)
	}
	for _, ping := range out.Pings {
		b.pings = append(b.pings, fmt.Sprint(b.now.Seconds()))
		if b.answer != nil {
			b.answer(ping)
		} else {
			b.step(Input{Kind: Ended, Target: ping})
		}
	}
}

// run lets virtual time pass until the given time.
func (b *bench) run(until time.Duration) {
	for b.wake <= until {
		b.now = b.wake
		b.step(Input{})
	}
	b.now = until
}

func (b *bench) want(pings string) {
	b.t.Helper()
	if got := strings.Join(b.pings, " "); got != pings {
		b.t.Errorf("pings at %s, want %s", got, pings)
	}
	b.pings = nil
}

// TestBackOff (HV-10): an NI that is not well is pinged at growing intervals, up to the longest one. A
// message raises its health and begins the back-off anew, until the health is whole. An NI of this node is pinged once
// a minute at least.
func TestBackOff(t *testing.T) {
	spec.Covers(t, "HV-10")
	for _, target := range []Target{mine, peer} {
		b := newBench(t, Settings{MaxInterval: 20 * time.Second})
		b.step(Input{Kind: Hurt, Target: target})
		b.step(Input{Kind: Hurt, Target: target}) // another failure changes nothing
		b.run(100 * time.Second)
		b.want("1 3 7 15 31 51 71 91")
		b.step(Input{Kind: Heard, Target: target, LastHeard: b.now})
		b.run(110 * time.Second)
		b.want("101 103 107")
		b.step(Input{Kind: Heard, Target: target, LastHeard: b.now, Whole: true})
		b.run(1000 * time.Second)
		b.want("")
	}
	b := newBench(t, Settings{})
	b.step(Input{Kind: Hurt, Target: peer})
	b.run(4000 * time.Second)
	b.want("1 3 7 15 31 63 127 255 511 1023 1923 2823 3723")
	b = newBench(t, Settings{})
	b.step(Input{Kind: Hurt, Target: mine})
	b.run(250 * time.Second)
	b.want("1 3 7 15 31 63 123 183 243")
}

// TestPingEnds: a ping that restores the health ends the recovery, and during a ping there is
// no other.
func TestPingEnds(t *testing.T) {
	b := newBench(t, Settings{})
	b.answer = func(Target) {}
	b.step(Input{Kind: Hurt, Target: mine})
	b.run(10 * time.Second)
	b.want("1")
	b.step(Input{Kind: Ended, Target: mine})
	b.run(11 * time.Second)
	b.want("11")
	b.step(Input{Kind: Ended, Target: mine, Whole: true})
	if b.run(100 * time.Second); len(b.Targets(true)) > 0 {
		t.Errorf("recovers %v", b.Targets(true))
	}
	b.want("")
}

// TestWhoIsRecovered (HV-11): a local NI is pinged until it is well. A peer NI is pinged only if a message
// has come from it, and only until Settings.Limit after the latest one.
func TestWhoIsRecovered(t *testing.T) {
	spec.Covers(t, "HV-11")
	b := newBench(t, Settings{Limit: 5 * time.Second})
	b.step(Input{Kind: Hurt, Target: peer, LastHeard: -1})
	b.run(10 * time.Second)
	b.want("")

	b.step(Input{Kind: Hurt, Target: peer, LastHeard: 8 * time.Second})
	b.step(Input{Kind: Hurt, Target: mine, LastHeard: -1})
	b.run(26 * time.Second)
	// At 17 s, the last message of the peer is older than the limit, so that its recovery ends; that of the
	// local NI goes on.
	b.want("11 11 13 13 17 25")
	b.step(Input{Kind: Heard, Target: mine, Whole: true})
	b.step(Input{Kind: Heard, Target: peer, LastHeard: b.now})
	b.run(28 * time.Second)
	b.want("27")
	if want := (Stats{Pings: 7, Unheard: 1, GivenUp: 1}); b.Stats() != want {
		t.Errorf("%+v, want %+v", b.Stats(), want)
	}
	b.step(Input{Kind: Set, Settings: Settings{}})
	b.run(60 * time.Second)
	b.want("29 33 41 57")
}

// TestBounds: a flood of failures does not fill the memory, and does not cause all pings at
// once.
func TestBounds(t *testing.T) {
	b := newBench(t, Settings{})
	under := 0
	b.answer = func(Target) { under++ }
	for i := range maxTargets + 10 {
		b.step(Input{Kind: Hurt, Target: Target{NID: nid.FromNumber(peer.NID.Net(), uint32(i))}})
	}
	if n := len(b.Targets(false)); n != maxTargets || b.Stats().Full != 10 {
		t.Errorf("%d NIs, %d refused", n, b.Stats().Full)
	}
	if b.run(time.Minute); under != maxPings {
		t.Errorf("%d pings under way, want %d", under, maxPings)
	}
}

// TestOwnBesideDead (HV-10): an NI of this node is pinged in time, however many peers are dead: their pings, which take
// long to fail, are all that may be in progress, and their NIs are all that may be recovered.
func TestOwnBesideDead(t *testing.T) {
	spec.Covers(t, "HV-10")
	b := newBench(t, Settings{})
	var own []time.Duration
	b.answer = func(target Target) {
		if target == mine {
			own = append(own, b.now)
			b.step(Input{Kind: Ended, Target: mine})
		}
	}
	for i := range maxTargets + 1 {
		b.step(Input{Kind: Hurt, Target: Target{NID: nid.FromNumber(peer.NID.Net(), uint32(i))}})
	}
	b.run(10 * time.Second)
	if b.Stats().Full != 1 || b.Stats().Pings != maxPings {
		t.Fatalf("%+v, want one NI too many and %d pings", b.Stats(), maxPings)
	}
	b.step(Input{Kind: Hurt, Target: mine})
	b.run(20 * time.Second)
	if want := []time.Duration{11 * time.Second, 13 * time.Second, 17 * time.Second}; !slices.Equal(own, want) {
		t.Errorf("own NI pinged at %v, want %v", own, want)
	}
}
