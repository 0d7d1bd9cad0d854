package engine_test

import (
	"fmt"
	"time"

	"ulnet/gossip/engine"
	"ulnet/lnet/nid"
)

// Three machines gossip on a network without delay, in virtual time. The loop steps the machine
// with the earliest wake, and what it sends arrives at once. One of the three never starts.
func Example() {
	list, err := engine.NewList([]nid.NID{nid.MustParse("10.0.0.1@tcp"), nid.MustParse("10.0.0.2@tcp"), nid.MustParse("10.0.0.3@tcp")})
	if err != nil {
		panic(err)
	}
	var machines [2]*engine.Machine
	var wakes [2]time.Duration
	for i := range machines {
		if machines[i], err = engine.New(engine.Config{Interval: time.Second, ColdStart: true}, list, i); err != nil {
			panic(err)
		}
	}
	var step func(i int, now time.Duration, in engine.Input)
	step = func(i int, now time.Duration, in engine.Input) {
		var out engine.Output
		wakes[i] = machines[i].Step(now, in, &out)
		for _, e := range out.Events {
			if e.Kind == engine.CameAlive {
				fmt.Println(list.NID(i), "hears of", e.NID)
			}
		}
		for k := range out.Sends {
			s, kind := &out.Sends[k], engine.Ping
			if s.Reply {
				kind = engine.Reply
			}
			if to := list.Index(s.To); to < len(machines) {
				step(to, now, engine.Input{Kind: kind, From: list.NID(i), Data: s.Data(&out)})
			}
		}
	}
	for i := range machines {
		step(i, 0, engine.Input{})
	}
	for now := time.Duration(0); now < 20*time.Second; {
		i := 0
		if wakes[1] < wakes[0] {
			i = 1
		}
		now = wakes[i]
		step(i, now, engine.Input{})
	}
	// Unordered output:
	// 10.0.0.1@tcp hears of 10.0.0.2@tcp
	// 10.0.0.2@tcp hears of 10.0.0.1@tcp
}
