package engine_test

import (
	"fmt"
	"slices"
	"time"

	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/engine"
)

// A manager and a member of a group, on a network without delay: messages arrive at once. The
// member joins, and sends a message to the group, in which it is alone.
func Example() {
	managers, self := []nid.NID{nid.MustParse("10.0.0.1@tcp")}, nid.MustParse("10.0.0.2@tcp")
	g := engine.NewManager(engine.ManagerConfig{Self: managers[0], Incarnation: 1, Group: 7, Managers: managers})
	m := engine.New(engine.Config{Self: self, Incarnation: 1, Group: 7, Managers: managers})
	var wakes [2]time.Duration
	var step func(i int, now time.Duration, in engine.Input)
	step = func(i int, now time.Duration, in engine.Input) {
		var out engine.Output
		from := managers[0]
		if i == 0 {
			wakes[0] = g.Step(now, in, &out)
		} else {
			wakes[1] = m.Step(now, in, &out)
			from = self
		}
		for k := range out.Effects {
			switch e := &out.Effects[k]; e.Kind {
			case engine.DoReport:
				step(1-i, now, engine.Input{Kind: engine.Instructed, From: from, Data: slices.Concat(out.Buf[e.Head.Begin:e.Head.End], e.Data)})
			case engine.Joined:
				fmt.Println("joined with list", e.Version)
			case engine.Deliver:
				fmt.Printf("delivered: %s\n", e.Data)
			case engine.Released:
				fmt.Println("all have it:", e.Token)
			}
		}
	}
	step(0, 0, engine.Input{})
	step(1, 0, engine.Input{Kind: engine.Join})
	sent := false
	for now := time.Duration(0); now < 20*time.Second; {
		i := 0
		if wakes[1] < wakes[0] {
			i = 1
		}
		now = wakes[i]
		step(i, now, engine.Input{})
		if members, err := m.Members(); err == nil && len(members) > 0 && !sent {
			sent = true
			step(1, now, engine.Input{Kind: engine.Send, Data: []byte("hello"), Token: "hello"})
		}
	}
	// Output:
	// joined with list 1.1
	// delivered: hello
	// all have it: hello
}
