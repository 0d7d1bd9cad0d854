package softroce

import (
	"net/netip"
	"testing"
	"time"

	"ulnet/lnd/verbs"
)

// often returns a function that says what a device tells which is absent again and again, for the time long, and reads for
// the time reads in between.
func often(long, reads time.Duration) func(time.Duration) away {
	var a absence
	var begun time.Duration
	return func(now time.Duration) away {
		for ; begun+long <= now; begun += long + reads {
			a.begin(begun)
			a.end(begun + long)
			a.back()
		}
		if begun <= now {
			a.begin(begun)
		}
		return a.at(now)
	}
}

// once returns a function that says what a device tells which is absent from one time to another.
func once(from, to time.Duration) func(time.Duration) away {
	return func(now time.Duration) away {
		switch d := min(now, to) - from; {
		case d < longAbsence:
			return away{}
		case now < to:
			return away{d, 1}
		default:
			return away{d, 0}
		}
	}
}

// stepUntil steps end 0 whenever its timer is due, and tells it what absences says. It returns when the end has failed, or at the
// time until.
func (p *pair) stepUntil(absences func(time.Duration) away, until time.Duration) {
	for p.failed[0] == verbs.Success && p.wakes[0] <= until {
		p.now = p.wakes[0]
		_ = p.step(0, rcInput{Away: absences(p.now)})
	}
}

// TestAbsentThenSilent: the retries of an absent device are not used up, and those of a device that is absent no longer
// are, in the usual time. The same holds if the device was absent before the connection was used.
func TestAbsentThenSilent(t *testing.T) {
	for _, tt := range []struct{ from, to, fails time.Duration }{
		{0, 0, 3 * time.Second},
		{0, 20 * time.Second, 23 * time.Second},
		{time.Second, 20 * time.Second, 22 * time.Second},
		{time.Second, 1200 * time.Millisecond, 3200 * time.Millisecond},
		{time.Second, 1127 * time.Millisecond, 3 * time.Second}, // too short to count
		{-time.Minute, 0, 3500 * time.Millisecond},              // one ACK timeout more than needed
	} {
		p := newPair(t, 1, weather{loss: 1}, nil)
		p.post(0, send(1, []byte("message")))
		p.stepUntil(once(tt.from, tt.to), time.Minute)
		if p.failed[0] != verbs.RetryExceeded || p.now != tt.fails {
			t.Errorf("absent from %v to %v: %v at %v, want it at %v", tt.from, tt.to, p.failed[0], p.now, tt.fails)
		}
		if n := p.ends[0].counters.Timeouts; n != 6 {
			t.Errorf("absent from %v to %v: %d timeouts", tt.from, tt.to, n)
		}
	}
}

// TestAbsentShortTimeout: a peer asks for ACK timeouts that are shorter than what counts as absence. One absence that goes on
// uses up no more than one retry.
func TestAbsentShortTimeout(t *testing.T) {
	p := newPair(t, 1, weather{loss: 1}, func(c *rcConfig) { c.AckTimeout = 67 * time.Millisecond })
	p.post(0, send(1, []byte("message")))
	p.stepUntil(once(0, 20*time.Second), time.Minute)
	if p.failed[0] != verbs.RetryExceeded || p.now < 20*time.Second || p.now > 21*time.Second {
		t.Errorf("%v at %v", p.failed[0], p.now)
	}
}

// TestOftenAbsent: a device that reads for a twentieth of the time notices that a peer is gone. Short absences do not count, and
// long ones lengthen each of the six ACK timeouts to at most three.
func TestOftenAbsent(t *testing.T) {
	for _, tt := range []struct{ long, reads, most time.Duration }{
		{10 * time.Millisecond, 500 * time.Microsecond, 3 * time.Second},
		{100 * time.Millisecond, 5 * time.Millisecond, 3 * time.Second},
		{190 * time.Millisecond, 10 * time.Millisecond, 9 * time.Second},
		{400 * time.Millisecond, 20 * time.Millisecond, 9 * time.Second},
	} {
		p := newPair(t, 1, weather{loss: 1}, nil)
		p.post(0, send(1, []byte("message")))
		p.stepUntil(often(tt.long, tt.reads), 10*time.Minute)
		if p.failed[0] != verbs.RetryExceeded || p.now > tt.most {
			t.Errorf("absences of %v: %v at %v", tt.long, p.failed[0], p.now)
		}
	}
}

// TestAbsentProbes: a device goes on with probes while it is absent.
func TestAbsentProbes(t *testing.T) {
	p := newPair(t, 1, weather{loss: 1}, nil)
	p.post(0, send(1, []byte("message")))
	for until := 5 * time.Second; until < time.Minute; until += 5 * time.Second {
		before := p.ends[0].counters.Probes
		p.stepUntil(once(0, time.Minute), until)
		if n := p.ends[0].counters.Probes - before; n < 20 {
			t.Errorf("%d probes in five seconds until %v", n, until)
		}
	}
}

// TestAbsentRequest: a request for a connection that gets no answer is given up when its time is over, not counting the time
// for which the device was absent.
func TestAbsentRequest(t *testing.T) {
	for _, tt := range []struct{ timeout, absent, fails time.Duration }{
		{5 * time.Second, 0, 5 * time.Second},
		{5 * time.Second, 2 * time.Second, 7 * time.Second},
		{5 * time.Second, time.Minute, 65 * time.Second},
		{100 * time.Second, 56 * time.Second, 156 * time.Second}, // longer than all repetitions take
	} {
		if _, at := requestUntil(t, tt.timeout, once(0, tt.absent)); at != tt.fails {
			t.Errorf("time-out %v, absent for %v: given up at %v, want %v", tt.timeout, tt.absent, at, tt.fails)
		}
	}
}

// TestOftenAbsentRequest: a device that is often absent gives up a request as well.
func TestOftenAbsentRequest(t *testing.T) {
	if n, at := requestUntil(t, 5*time.Second, often(190*time.Millisecond, 10*time.Millisecond)); at > 15*time.Second {
		t.Errorf("given up at %v, after %d steps", at, n)
	}
}

// requestUntil makes a request for a connection that gets no answer, and tells the connection manager what absences says. It
// returns after how many steps and when the request is given up.
func requestUntil(t *testing.T, timeout time.Duration, absences func(time.Duration) away) (steps int, at time.Duration) {
	x := newCMNet(t, 1, 2, weather{loss: 1})
	x.do(0, cmCall{Kind: callConnect, To: netip.AddrPortFrom(x.nodes[1].addr, testPort), End: x.end(0), Timeout: timeout})
	n := x.nodes[0]
	for len(n.events) == 0 && n.wake < time.Hour {
		x.now = n.wake
		_, _ = x.step(0, cmInput{Away: absences(x.now)})
		steps++
	}
	x.expect(0, cmUnreachable)
	return steps, x.now
}
