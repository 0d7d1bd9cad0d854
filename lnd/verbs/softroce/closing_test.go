package softroce

import (
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/softroce/emulator"
	"ulnet/lnet/machine"
)

// ends counts the connections of a test by their outcome.
type ends struct {
	t           *testing.T
	made, ended atomic.Int64
}

// watch returns two functions that count connections: the upcall for events of a connection, and a
// function to call with the results of Connect or Accept.
func (f *ends) watch() (events func(verbs.Conn, verbs.Event), made func(verbs.Conn, error)) {
	var told atomic.Int64
	events = func(_ verbs.Conn, e verbs.Event) {
		told.Add(1)
		if e.Kind != verbs.Established {
			f.ended.Add(1)
		}
	}
	return events, func(_ verbs.Conn, err error) {
		if err == nil {
			f.made.Add(1)
		} else if told.Load() > 0 {
			f.t.Errorf("an event of a connection that was not made: %v", err)
		}
	}
}

// TestCloseMeanwhile closes handles of devices while other goroutines connect and accept with them. A
// call that fails causes no event. Every connection of a call that succeeds gets a last event. No
// device is left open at an address.
func TestCloseMeanwhile(t *testing.T) {
	rounds := 400
	if testing.Short() || effort.Race {
		rounds = 100
	}
	clock := machine.RealClock()
	net := emulator.New(emulator.Config{Clock: clock, Seed: 3, Faults: emulator.Faults{Delay: 10 * time.Microsecond}})
	open := NewOpener(Options{Network: net})
	var stay [2]*testNode // two more handles, which keep the addresses open
	for i, a := range []string{"10.0.0.1", "10.0.0.2"} {
		stay[i] = openNode(t, open, verbs.OpenConfig{Addr: netip.MustParseAddr(a), Clock: clock})
	}
	for round := range rounds {
		closeMeanwhile(t, round, open, stay)
	}
	for i, n := range stay {
		h := n.device.(*device).hub
		if s := h.stats(); s.QueuePairs != 0 {
			t.Errorf("node %d: %+v", i, s)
		}
		h.cm.mu.Lock()
		if len(h.cm.conns) != 0 {
			t.Errorf("node %d: %d connections are left", i, len(h.cm.conns))
		}
		h.cm.mu.Unlock()
	}
}

func closeMeanwhile(t *testing.T, round int, open verbs.Opener, stay [2]*testNode) {
	var nodes [2]*testNode
	for i := range nodes {
		nodes[i] = openNode(t, open, verbs.OpenConfig{Addr: stay[i].device.Attr().Addr, Clock: machine.RealClock()})
		nodes[i].drop()
	}
	f := ends{t: t}
	var all, accepting sync.WaitGroup
	if _, err := nodes[1].device.Listen(987, func(r verbs.Request) {
		accepting.Go(func() {
			events, made := f.watch()
			made(r.Accept(nodes[1].config(), events))
		})
	}); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		all.Go(func() {
			events, made := f.watch()
			made(nodes[0].device.Connect(addrPort(nodes[1].device), nodes[0].config(), events))
		})
	}
	all.Go(func() { _ = nodes[round%2].device.Close() })
	all.Wait()
	_ = nodes[1].device.Close() // closed, so that no further request comes
	accepting.Wait()
	_ = nodes[0].device.Close()
	if f.made.Load() != f.ended.Load() {
		t.Fatalf("round %d: %d connections, %d ends", round, f.made.Load(), f.ended.Load())
	}
}
