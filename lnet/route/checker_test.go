package route_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/lnet/route"
)

// clockwork steps a checker in virtual time and records its outputs.
type clockwork struct {
	t       *testing.T
	checker route.Checker
	now     time.Duration
	wake    time.Duration
	log     []string
	last    route.Check
}

func (c *clockwork) step(in route.CheckInput) {
	c.t.Helper()
	var out route.CheckOutput
	c.wake = c.checker.Step(c.now, in, &out)
	if c.wake <= c.now {
		c.t.Fatalf("at %v the checker wants to be woken at %v", c.now, c.wake)
	}
	for _, change := range out.Changes {
		word := "alive"
		if !change.Alive {
			word = fmt.Sprint("dead: ", change.Err)
		}
		c.log = append(c.log, fmt.Sprintf("%v %v %s", c.now, change.Gateway, word))
	}
	for _, check := range out.Checks {
		c.last = check
		c.log = append(c.log, fmt.Sprintf("%v check %v at %v", c.now, check.Gateway, check.NID))
	}
}

// run lets virtual time pass until the given time.
func (c *clockwork) run(until time.Duration) {
	c.t.Helper()
	for c.wake <= until {
		c.now = c.wake
		c.step(route.CheckInput{})
	}
	c.now = until
}

func (c *clockwork) watch(cfg route.CheckerConfig, targets ...route.Target) {
	c.t.Helper()
	c.step(route.CheckInput{Kind: route.Watch, Config: cfg, Targets: targets})
}

func (c *clockwork) answer(exchange uint64, err error) {
	c.t.Helper()
	c.step(route.CheckInput{Kind: route.Answered, Exchange: exchange, Err: err})
}

func (c *clockwork) want(lines ...string) {
	c.t.Helper()
	if got, want := strings.Join(c.log, "\n"), strings.Join(lines, "\n"); got != want {
		c.t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	c.log = nil
}

func target(gateway string, more ...string) route.Target {
	t := route.Target{Gateway: nid.MustParse(gateway), NIDs: []nid.NID{nid.MustParse(gateway)}}
	for _, id := range more {
		t.NIDs = append(t.NIDs, nid.MustParse(id))
	}
	return t
}

var defaults = route.CheckerConfig{Interval: route.DefaultCheckInterval, Timeout: route.DefaultPingTimeout}

func TestChecks(t *testing.T) {
	spec.Covers(t, "RT-6", "RT-7")
	t.Parallel()
	c := &clockwork{t: t}
	c.watch(defaults, target("10.88.0.7@tcp"))
	c.want("0s check 10.88.0.7@tcp at 10.88.0.7@tcp")
	c.run(time.Second)
	c.answer(c.last.Exchange, nil)
	c.want("1s 10.88.0.7@tcp alive")
	c.run(time.Minute)
	c.want("1m0s check 10.88.0.7@tcp at 10.88.0.7@tcp")
	c.answer(c.last.Exchange, syscall.ECONNREFUSED)
	c.want("1m0s 10.88.0.7@tcp dead: connection refused")
	c.run(2 * time.Minute)
	silent := c.last
	c.run(169 * time.Second)
	c.want("2m0s check 10.88.0.7@tcp at 10.88.0.7@tcp")
	c.run(170 * time.Second)
	c.want("2m50s 10.88.0.7@tcp dead: connection timed out")
	c.answer(silent.Exchange, errors.New("late"))
	c.want()
	c.answer(silent.Exchange, nil)
	c.want("2m50s 10.88.0.7@tcp alive")
	c.answer(silent.Exchange, nil)
	c.want()
	c.run(3 * time.Minute)
	c.want("3m0s check 10.88.0.7@tcp at 10.88.0.7@tcp")
}

// TestChecksEachNet: a gateway is checked on each net that it shares with the node, one check
// at a time.
func TestChecksEachNet(t *testing.T) {
	spec.Covers(t, "RT-6")
	t.Parallel()
	c := &clockwork{t: t}
	c.watch(defaults, target("10.88.0.7@tcp", "10.1.0.7@o2ib"))
	c.want("0s check 10.88.0.7@tcp at 10.88.0.7@tcp")
	c.run(2 * time.Second)
	c.answer(c.last.Exchange, nil)
	c.want("2s 10.88.0.7@tcp alive", "2s check 10.88.0.7@tcp at 10.1.0.7@o2ib")
	c.answer(c.last.Exchange, nil)
	c.run(61 * time.Second)
	c.want("2s 10.88.0.7@tcp alive", "1m0s check 10.88.0.7@tcp at 10.88.0.7@tcp")
	c.answer(c.last.Exchange, nil)
	c.run(62 * time.Second)
	c.want("1m1s 10.88.0.7@tcp alive", "1m2s check 10.88.0.7@tcp at 10.1.0.7@o2ib")
}

func TestWatch(t *testing.T) {
	spec.Covers(t, "RT-6")
	t.Parallel()
	c := &clockwork{t: t}
	c.watch(defaults, target("10.88.0.7@tcp"))
	first := c.last
	c.answer(first.Exchange, nil)
	c.run(10 * time.Second)
	c.log = nil
	c.watch(defaults, target("10.88.0.8@tcp"), target("10.88.0.7@tcp"))
	c.want("10s check 10.88.0.8@tcp at 10.88.0.8@tcp") // the new gateway is checked at once; the time of the known gateway has not changed
	second := c.last
	c.watch(defaults, target("10.88.0.7@tcp"))
	c.answer(second.Exchange, nil)
	c.want() // the NID is not a gateway any more
	c.run(time.Minute)
	c.want("1m0s check 10.88.0.7@tcp at 10.88.0.7@tcp")
	c.answer(c.last.Exchange, nil)
	c.log = nil
	c.watch(route.CheckerConfig{Interval: 5 * time.Second, Timeout: time.Second}, target("10.88.0.7@tcp"))
	c.run(65 * time.Second)
	// The interval is now 5 s. The next check is due 5 s after the previous one, not a minute after it.
	c.want("1m5s check 10.88.0.7@tcp at 10.88.0.7@tcp")
	c.watch(route.CheckerConfig{Interval: 0, Timeout: time.Second}, target("10.88.0.7@tcp"))
	c.log = nil
	c.run(66 * time.Second)
	c.want("1m6s 10.88.0.7@tcp dead: connection timed out")
	if c.wake != machine.Never {
		t.Errorf("without an interval the next step is at %v", c.wake)
	}
	c.watch(defaults)
	c.watch(defaults, target("10.88.0.7@tcp"))
	c.want("1m6s check 10.88.0.7@tcp at 10.88.0.7@tcp")
}

// TestAnswersTogether: the times of two checks end while the process stands still. Then both answers are handled, one
// after the other. Neither gateway counts as dead in between.
func TestAnswersTogether(t *testing.T) {
	spec.Covers(t, "RT-7")
	t.Parallel()
	var c route.Checker
	var out route.CheckOutput
	c.Step(0, route.CheckInput{Kind: route.Watch, Config: defaults, Targets: []route.Target{target("10.88.0.7@tcp"), target("10.88.0.8@tcp")}}, &out)
	if len(out.Checks) != 2 {
		t.Fatalf("checks %+v", out.Checks)
	}
	for i, check := range slices.Clone(out.Checks) {
		out.Reset()
		wake := c.Step(time.Hour, route.CheckInput{Kind: route.Answered, Config: defaults, Exchange: check.Exchange}, &out)
		if len(out.Changes) != 1 || !out.Changes[0].Alive || wake <= time.Hour {
			t.Errorf("answer %d: %+v, next step at %v", i+1, out, wake)
		}
	}
}
