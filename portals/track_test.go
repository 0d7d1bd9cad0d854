package portals_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/machine"
	"ulnet/portals"
)

// fakeClock is a clock that a test moves.
type fakeClock struct {
	now    time.Duration
	timers []*fakeTimer // timers, ordered by time
	reads  int          // number of calls of Now
}

type fakeTimer struct {
	clock *fakeClock
	at    time.Duration
	f     func()
}

func (c *fakeClock) Now() time.Duration {
	c.reads++
	return c.now
}

func (c *fakeClock) AfterFunc(d time.Duration, f func()) machine.Timer {
	timer := &fakeTimer{clock: c, at: c.now + min(d, machine.Never-c.now), f: f}
	c.timers = append(c.timers, timer)
	slices.SortStableFunc(c.timers, func(a, b *fakeTimer) int { return cmp.Compare(a.at, b.at) })
	return timer
}

func (f *fakeTimer) Stop() bool {
	i := slices.Index(f.clock.timers, f)
	if i >= 0 {
		f.clock.timers = slices.Delete(f.clock.timers, i, i+1)
	}
	return i >= 0
}

// advance lets time pass and runs the timers that are due, each at its time.
func (c *fakeClock) advance(d time.Duration) {
	end := c.now + d
	for len(c.timers) > 0 && c.timers[0].at <= end {
		due := c.timers[0]
		c.timers = c.timers[1:]
		c.now = max(c.now, due.at) // later than due.at after a pause
		due.f()
	}
	c.now = end
}

// timed is newWire with a clock that the test sets.
func timed(t testing.TB, cfg lnet.Config, tunables lnd.Tunables) (*harness, *network, *fakeClock) {
	t.Helper()
	clock := new(fakeClock)
	cfg.Incarnation, cfg.Clock, cfg.PeerIdle = incarnation, clock, -1 // without ageing, the table's timer is the only one
	table, net := newWireOn(t, lnet.New(cfg), tunables)
	return &harness{Table: table, t: t, self: here}, net, clock
}

// TestResponseTimeout (PT-29) checks how a PUT or GET ends if its answer does not arrive within the
// transaction timeout, which is 10 s here.
func TestResponseTimeout(t *testing.T) {
	spec.Covers(t, "PT-29")
	const (
		track   = portals.TrackResponse
		noTrack = portals.NoTrackResponse
	)
	for name, c := range map[string]struct {
		tracking int
		options  portals.MDOption
		steps    string // p: PUT with ACK, q: PUT without, g: GET; s: sent, f: failed; a: ACK, r: REPLY; u: unlink; + turns tracking on, - turns it off; digits: seconds that pass
		want     []string
		timeouts uint64
	}{
		"no ACK":                     {steps: "ps 9 9", want: []string{"0s SEND", "15s UNLINK!"}, timeouts: 1},
		"no REPLY":                   {steps: "gs 9 9", want: []string{"0s SEND", "15s UNLINK!"}, timeouts: 1},
		"ACK in time":                {steps: "ps 9 a 9 9", want: []string{"0s SEND", "9s ACK"}},
		"ACK just before the sweep":  {steps: "ps 9 5 a 9", want: []string{"0s SEND", "14s ACK"}},
		"ACK too late":               {steps: "ps 9 6 a", want: []string{"0s SEND", "15s UNLINK!"}, timeouts: 1},
		"REPLY too late":             {steps: "gs 9 6 r", want: []string{"0s SEND", "15s UNLINK!"}, timeouts: 1},
		"no ACK asked for":           {steps: "qs 9 9 9", want: []string{"0s SEND"}},
		"not before its time":        {steps: "ps a 4 ps 9 1 a 9 9", want: []string{"0s SEND", "0s ACK", "4s SEND", "14s ACK"}},
		"the latest operation":       {steps: "gs 9 gs 9 1 r r 9", want: []string{"0s SEND", "9s SEND", "19s REPLY", "19s REPLY"}},
		"one of two answered":        {steps: "gs gs r 9 6", want: []string{"0s SEND", "0s SEND", "0s REPLY", "15s UNLINK!"}, timeouts: 1},
		"still being sent":           {steps: "p 9 6 s", want: []string{"15s SEND! connection timed out"}, timeouts: 1},
		"fails while being sent":     {steps: "p 9 6 f", want: []string{"15s SEND! input/output error"}, timeouts: 1},
		"the last event tells":       {steps: "pp 9 6 ss", want: []string{"15s SEND", "15s SEND! connection timed out"}, timeouts: 1},
		"failed to send":             {steps: "pf 9 9", want: []string{"0s SEND input/output error"}},
		"unlinked":                   {steps: "gs u 9 9", want: []string{"0s SEND", "0s UNLINK!"}},
		"GETs tracked, GET":          {tracking: 1, steps: "gs 9 9", want: []string{"0s SEND", "15s UNLINK!"}, timeouts: 1},
		"GETs tracked, PUT":          {tracking: 1, steps: "ps 9 9", want: []string{"0s SEND"}},
		"PUTs tracked, GET":          {tracking: 2, steps: "gs 9 9", want: []string{"0s SEND"}},
		"PUTs tracked, PUT":          {tracking: 2, steps: "ps 9 9", want: []string{"0s SEND", "15s UNLINK!"}, timeouts: 1},
		"PUTs tracked, GET is open":  {tracking: 2, steps: "gs ps a 9 9", want: []string{"0s SEND", "0s SEND", "0s ACK"}},
		"none tracked":               {tracking: -1, steps: "gsps 9 9", want: []string{"0s SEND", "0s SEND"}},
		"none tracked but this one":  {tracking: -1, options: track, steps: "ps 9 9", want: []string{"0s SEND", "15s UNLINK!"}, timeouts: 1},
		"all tracked but this one":   {options: noTrack, steps: "gsps 9 9", want: []string{"0s SEND", "0s SEND"}},
		"turned off meanwhile":       {steps: "gs gs - r 9 6", want: []string{"0s SEND", "0s SEND", "0s REPLY", "15s UNLINK!"}, timeouts: 1},
		"turned on meanwhile":        {tracking: -1, steps: "gs + ps a 9 9", want: []string{"0s SEND", "0s SEND", "0s ACK"}},
		"turned on, then asked":      {tracking: -1, steps: "gs + gs r 9 6", want: []string{"0s SEND", "0s SEND", "0s REPLY", "15s UNLINK!"}, timeouts: 1},
		"turned off, then asked":     {steps: "gs r - gs 9 9", want: []string{"0s SEND", "0s REPLY", "0s SEND"}},
		"not, if both are asked for": {options: track | noTrack, steps: "gs 9 9", want: []string{"0s SEND"}},
	} {
		t.Run(name, func(t *testing.T) {
			h, net, clock := timed(t, lnet.Config{TransactionTimeout: 10 * time.Second, ResponseTracking: c.tracking}, lnd.Tunables{})
			var got []string
			md := h.bind(portals.MD{
				Segments: []lnd.Segment{make([]byte, 8)}, Threshold: inf, Options: c.options,
				Handler: func(e *portals.Event) { got = append(got, fmt.Sprint(clock.now, " ", short(e))) },
			})
			for _, step := range c.steps {
				h.timedStep(net, clock, md, step)
			}
			if diff := gocmp.Diff(c.want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if n := h.Node().Stats().ResponseTimeouts; n != c.timeouts {
				t.Errorf("%d response timeouts, want %d", n, c.timeouts)
			}
			if err := h.MDUnlink(md); (err == nil) == (c.timeouts > 0) && !errors.Is(err, syscall.ENOENT) {
				t.Errorf("unlink: %v", err)
			}
			clock.advance(time.Hour)
			if len(clock.timers) > 0 {
				t.Error("the timer of an idle table runs")
			}
		})
	}
}

// short is an event's kind, "!" if it is the last one, and its error.
func short(e *portals.Event) string {
	s := kinds([]portals.Event{*e})[0]
	if e.Err != nil {
		s += " " + e.Err.Error()
	}
	return s
}

// timedStep makes the step that a letter of TestResponseTimeout stands for.
func (h *harness) timedStep(net *network, clock *fakeClock, md portals.MDHandle, step rune) {
	h.t.Helper()
	var err error
	switch step {
	case 'p', 'q':
		err = h.Put(portals.PutRequest{MD: md, Ack: step == 'p', Target: there})
	case 'g':
		err = h.Get(portals.GetRequest{MD: md, Target: there})
	case 's':
		net.finalize(net.next(), nil)
	case 'f':
		net.finalize(net.next(), syscall.EIO)
	case 'a':
		err = net.arrive(ackHeader(handle(md), 8), nil)
	case 'r':
		err = net.arrive(replyHeader(8, handle(md)), nil)
	case 'u':
		err = h.MDUnlink(md)
	case '+':
		h.Node().SetResponseTracking(3)
	case '-':
		h.Node().SetResponseTracking(0)
	case ' ':
	default:
		clock.advance(time.Duration(step-'0') * time.Second)
	}
	if err != nil {
		h.t.Fatalf("step %c: %v", step, err)
	}
}

// TestTimerOfIdleTable: a timer runs only while answers are awaited, and there is one timer
// for all of them.
func TestTimerOfIdleTable(t *testing.T) {
	h, net, clock := timed(t, lnet.Config{TransactionTimeout: 10 * time.Second, PeerIdle: -1}, lnd.Tunables{})
	want := func(timers int) {
		t.Helper()
		if len(clock.timers) != timers {
			t.Fatalf("%d timers at %v, want %d", len(clock.timers), clock.now, timers)
		}
	}
	want(0)
	md := h.bind(portals.MD{Segments: []lnd.Segment{make([]byte, 8)}, Threshold: inf})
	for range 3 {
		h.timedStep(net, clock, md, 'q')
		h.timedStep(net, clock, md, 's')
	}
	want(0)
	for range 3 {
		h.timedStep(net, clock, md, 'p')
		h.timedStep(net, clock, md, 's')
	}
	want(1)
	clock.advance(6 * time.Second)
	want(1)
	for range 3 {
		h.timedStep(net, clock, md, 'a')
	}
	clock.advance(5 * time.Second)
	want(0)
	h.timedStep(net, clock, md, 'p')
	want(1)
}

// TestSlowSweep: a handler delays a sweep until after the next sweep is due, and an MD begins an
// operation during the delay. That operation is not given up too early.
func TestSlowSweep(t *testing.T) {
	h, net, clock := timed(t, lnet.Config{TransactionTimeout: 10 * time.Second}, lnd.Tunables{})
	var second portals.MDHandle
	var seen log
	get := func(md portals.MDHandle) {
		if err := h.Get(portals.GetRequest{MD: md, Target: there}); err != nil {
			t.Error(err)
		}
		net.finalize(net.next(), nil)
	}
	late := 0
	first := h.bind(portals.MD{Threshold: inf, Handler: func(e *portals.Event) {
		if e.Kind != portals.EventUnlink {
			return
		}
		late++
		get(second) // this GET sets the timer of the next sweep
		clock.advance(5 * time.Second)
		get(second)
	}})
	second = h.bind(portals.MD{Threshold: inf, Handler: seen.handle})
	get(first)
	clock.advance(15 * time.Second)
	if got := seen.take(); late != 1 || len(got) != 2 {
		t.Errorf("%d MDs given up, then %v", late, got)
	}
}
