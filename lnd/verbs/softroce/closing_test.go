package softroce

import (
	"net/netip"
	"sync"
	"testing"
	"time"

	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/softroce/wire"
	"ulnet/lnet/machine"
)

// TestCloseMeanwhile closes handles while others connect and accept with them: at
// their addresses nothing is left.
func TestCloseMeanwhile(t *testing.T) {
	rounds := 200
	if testing.Short() || raceEnabled {
		rounds = 40
	}
	clock := machine.RealClock()
	net := wire.NewEmulator(wire.EmulatorConfig{Clock: clock, Seed: 3, Faults: wire.Faults{Delay: 10 * time.Microsecond}})
	open := NewOpener(Options{Network: net})
	var at [2]verbs.OpenConfig
	var stay [2]verbs.Device // keeps the address open
	for i, a := range []string{"10.0.0.1", "10.0.0.2"} {
		at[i] = verbs.OpenConfig{Addr: netip.MustParseAddr(a), Clock: clock}
		var err error
		if stay[i], err = open(at[i]); err != nil {
			t.Fatal(err)
		}
	}
	for round := range rounds {
		nodes := [2]*testNode{openNode(t, open, at[0]), openNode(t, open, at[1])}
		ignore := func(verbs.Conn, verbs.Event) {}
		var all sync.WaitGroup
		if _, err := nodes[1].device.Listen(987, func(r verbs.Request) {
			all.Go(func() { _, _ = r.Accept(nodes[1].config(), ignore) })
		}); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			all.Go(func() { _, _ = nodes[0].device.Connect(addrPort(nodes[1].device), nodes[0].config(), ignore) })
		}
		for i, n := range nodes {
			all.Go(func() {
				if i == round%2 {
					<-clockTick(clock)
				}
				if err := n.device.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		for i, d := range stay {
			if s := d.(*device).hub.stats(); s.QueuePairs != 0 {
				t.Fatalf("round %d: node %d: %+v", round, i, s)
			}
		}
	}
	for _, d := range stay {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

// clockTick returns a channel that is closed soon.
func clockTick(clock machine.Clock) <-chan struct{} {
	c := make(chan struct{})
	clock.AfterFunc(50*time.Microsecond, func() { close(c) })
	return c
}
