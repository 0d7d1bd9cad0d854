package main_test

import (
	"sync"
	"testing"
	"time"
)

const (
	stallTick = 10 * time.Millisecond
	stallSlip = 40 * time.Millisecond // a tick that is late by more than this counts as a stall
)

// stalls records the times at which this process was delayed. If this process was delayed
// because the machine is overloaded, the daemons that it watches were delayed as well.
type stalls struct {
	mu   sync.Mutex
	list []stall // stalls so far; guarded by mu
}

type stall struct{ from, to time.Time }

// watchStalls records stalls until the test ends.
func watchStalls(t *testing.T) *stalls {
	s := new(stalls)
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(stallTick)
		defer tick.Stop()
		for last := time.Now(); ; {
			select {
			case <-tick.C:
			case <-quit:
				return
			}
			now := time.Now()
			s.note(last, now)
			last = now
		}
	}()
	t.Cleanup(func() { close(quit); <-ended })
	return s
}

func (s *stalls) note(from, to time.Time) {
	if to.Sub(from) > stallTick+stallSlip {
		s.mu.Lock()
		s.list = append(s.list, stall{from.Add(stallTick), to})
		s.mu.Unlock()
	}
}

// between returns how much of an interval the stalls cover.
func (s *stalls) between(from, to time.Time) (sum time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.list {
		if one.from.Before(from) {
			one.from = from
		}
		if one.to.After(to) {
			one.to = to
		}
		if d := one.to.Sub(one.from); d > 0 {
			sum += d
		}
	}
	return sum
}

// TestStalls: of a stall, only the part inside the interval counts, and small delays do not
// count.
func TestStalls(t *testing.T) {
	at := func(ms int) time.Time { return time.Unix(0, 0).Add(time.Duration(ms) * time.Millisecond) }
	s := new(stalls)
	s.note(at(0), at(50))     // the tick of 10 ms comes at 50 ms: no stall
	s.note(at(100), at(310))  // the tick of 110 ms comes at 310 ms: a stall of 200 ms
	s.note(at(500), at(1010)) // the tick of 510 ms comes at 1010 ms: a stall of 500 ms
	for _, test := range []struct{ from, to, want int }{
		{0, 2000, 700}, {0, 100, 0}, {200, 400, 110}, {310, 510, 0}, {600, 700, 100}, {700, 600, 0},
	} {
		if got := s.between(at(test.from), at(test.to)); got != time.Duration(test.want)*time.Millisecond {
			t.Errorf("from %d to %d: %v, want %d ms", test.from, test.to, got, test.want)
		}
	}
}
