package lnetsim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/link"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/history"
	"ulnet/lnd/sim/scenario"
)

// told is one event of a node.
type told struct {
	at   time.Duration
	node sim.NodeID
	sim.Event
}

// start makes a network on links of 1 ms and keeps what its nodes tell.
func start(t *testing.T, cfg Config, loss float64) (*Net, *[]told) {
	t.Helper()
	cfg.Topology = &sim.Flat{Link: link.Quality{
		Latency: link.Dist{Base: time.Millisecond, Spread: 200 * time.Microsecond, Shape: link.Uniform}, Loss: loss,
	}}
	var events []told
	cfg.OnEvent = func(at time.Duration, node sim.NodeID, ev sim.Event) {
		events = append(events, told{at, node, ev})
	}
	n, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	run(t, n, 0)
	return n, &events
}

// run lets so much time pass.
func run(t *testing.T, n *Net, d time.Duration) {
	t.Helper()
	if err := n.Run(n.Now() + d); err != nil {
		t.Fatal(err)
	}
}

// stop has no node begin operations of its own any more, and lets everything
// end that is under way.
func stop(t *testing.T, n *Net) {
	t.Helper()
	for id := range n.Nodes() {
		n.Command(sim.NodeID(id), "stop")
	}
	run(t, n, time.Minute)
	if under := n.outstanding(); under > 0 {
		t.Errorf("%d operations are under way for ever", under)
	}
	if ok, why := n.creditsReturned(); !ok {
		t.Error(why)
	}
}

// TestThousandPing: a thousand nodes ping each other on perfect links.
func TestThousandPing(t *testing.T) {
	n, _ := start(t, Config{Network: scenario.Network{Nodes: 1000, Seed: 1}, Kind: Ping, Rate: 5, Partners: 2}, 0)
	run(t, n, time.Second)
	stop(t, n)
	s := n.Counters()
	if s.Begun < 4_500 || s.Answered != s.Begun || s.Failed > 0 || s.Drops > 0 {
		t.Errorf("%+v", s)
	}
	if p50 := n.Latency(0.5); p50 < 1600*time.Microsecond || p50 > 2400*time.Microsecond {
		t.Errorf("a ping takes %v on links of 1 ms", p50)
	}
}

// TestLoss: operations whose messages are lost fail by the timeout, all
// others are answered, and nothing leaks.
func TestLoss(t *testing.T) {
	for _, kind := range []Kind{Put, Get} {
		n, _ := start(t, Config{Network: scenario.Network{Nodes: 60, Seed: 2}, Kind: kind, Rate: 10, Partners: 10, Discovery: true}, 0.02)
		run(t, n, 20*time.Second)
		stop(t, n)
		s := n.Counters()
		lost := float64(s.Failed) / float64(s.Begun)
		if s.Answered+s.Failed != s.Begun || s.Twice+s.Phantoms > 0 || lost < 0.02 || lost > 0.08 {
			t.Errorf("kind %d: %.1f%% failed of %+v", kind, 100*lost, s)
		}
		if s.Unanswered == 0 {
			t.Error("no MD was given up, with losses")
		}
	}
}

// TestKilledPeer: what is under way to a process that dies fails by event, at
// once or by the timeout, and credits come back.
func TestKilledPeer(t *testing.T) {
	for _, tt := range []struct {
		name   string
		end    func(*Net)
		within time.Duration
	}{
		{"process", func(n *Net) { n.Kill(0) }, 16 * time.Second},
		{"host", func(n *Net) { n.Crash(0) }, 16 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n, events := start(t, Config{Network: scenario.Network{Nodes: 10, Seed: 3}, Discovery: true}, 0)
			for from := 1; from < 10; from++ {
				n.Begin(sim.NodeID(from), 0, Put, 5, false)
			}
			run(t, n, time.Second)
			tt.end(n)
			for from := 1; from < 10; from++ {
				n.Begin(sim.NodeID(from), 0, Put, 50, false)
			}
			died := n.Now()
			run(t, n, tt.within)
			failed := 0
			for _, e := range *events {
				if e.Kind == uint16(Failed) {
					failed++
					if e.at-died > tt.within {
						t.Errorf("failed after %v", e.at-died)
					}
				}
			}
			if failed != 9*50 || n.Operations().Answered != 9*5 {
				t.Errorf("%d failed, %+v", failed, n.Operations())
			}
			stop(t, n)
			// A new incarnation is found.
			n.Start(0, false)
			run(t, n, time.Second)
			n.Begin(1, 0, Put, 1, false)
			run(t, n, 5*time.Second)
			if n.Operations().Answered != 9*5+1 {
				t.Error("the next life is not reached")
			}
		})
	}
}

// TestPausedPeer: credits to a peer that stands still are used up, messages
// queue, priority ones pass them, and all drains when it goes on.
func TestPausedPeer(t *testing.T) {
	n, events := start(t, Config{
		Network: scenario.Network{Nodes: 3, Seed: 4}, Window: 4096, Size: 1000, Timeout: time.Minute,
	}, 0)
	n.Begin(1, 0, Put, 1, false)
	run(t, n, time.Second)
	n.Pause(0)
	n.Begin(1, 0, Put, 100, false)
	n.Begin(1, 0, Put, 1, true)
	run(t, n, time.Second)
	p := n.Stack(1).Node.Snapshot().Peers[0]
	if p.Queued < 80 || p.Credits != -p.Queued || p.MinCredits > p.Credits {
		t.Errorf("%d messages queue, %d credits, %d at least", p.Queued, p.Credits, p.MinCredits)
	}
	if n.Begin(1, 2, Put, 1, false); n.Operations().Answered != 1 {
		t.Errorf("%+v", n.Operations())
	}
	run(t, n, time.Second)
	if n.Operations().Answered != 2 {
		t.Error("a paused peer keeps messages to others back")
	}
	before := len(*events)
	n.Resume(0)
	run(t, n, 10*time.Second)
	if s := n.Operations(); s.Answered != s.Begun || s.Failed > 0 {
		t.Errorf("after the pause: %+v", s)
	}
	var order []uint64
	for _, e := range (*events)[before:] {
		if e.Kind == uint16(history.Delivery) {
			order = append(order, e.Value)
		}
	}
	const urgent = 102 // the number of the operation with priority
	if i := slices.Index(order, urgent); i < 0 || i > 10 {
		t.Errorf("the priority message was number %d of those that waited", i+1)
	}
	stop(t, n)
}

// TestLeave: a node that shuts down fails its own operations; the others lose
// no credits.
func TestLeave(t *testing.T) {
	n, _ := start(t, Config{Network: scenario.Network{Nodes: 20, Seed: 5}, Rate: 50, Discovery: true}, 0)
	run(t, n, time.Second)
	n.Command(7, "leave")
	run(t, n, time.Second)
	if s := n.Operations(); s.Failed == 0 || s.Answered < 500 {
		t.Errorf("%+v", s)
	}
	stop(t, n)
}

// TestSameSeed: a run with every kind of fault, twice.
func TestSameSeed(t *testing.T) {
	play := func(seed uint64) string {
		n, events := start(t, Config{
			Network: scenario.Network{Nodes: 30, Seed: seed}, Window: 8192, Rate: 20, Size: 500, Discovery: true, Timeout: 4 * time.Second,
			Tunables: lnd.Tunables{PeerCredits: 2, Credits: 8},
		}, 0.01)
		r := rand.New(rand.NewPCG(seed, 9))
		for i := range 44 {
			id := sim.NodeID(r.IntN(30))
			n.At(time.Second+time.Duration(i)*200*time.Millisecond, func() { fault(n, i, id) })
		}
		run(t, n, 12*time.Second)
		n.Heal()
		for id := range sim.NodeID(30) {
			n.Start(id, false)
			n.Resume(id)
		}
		stop(t, n)
		return fmt.Sprintf("%x %d events %+v", n.Digest(), len(*events), n.Counters())
	}
	a, b := play(1), play(1)
	if a != b {
		t.Errorf("seed 1 twice:\n%s\n%s", a, b)
	}
	t.Log(a)
	if c := play(2); c == a {
		t.Error("seeds 1 and 2 give the same run")
	}
}

// fault does something to a node.
func fault(n *Net, kind int, id sim.NodeID) {
	switch kind % 11 {
	case 0:
		n.Kill(id)
	case 1:
		n.Crash(id)
	case 2:
		n.Pause(id)
	case 3:
		n.Start(id, false)
	case 4:
		n.Resume(id)
	case 5:
		n.SetSkew(id, 1000)
		n.SetSlow(id, time.Millisecond)
	case 6:
		n.Partition(sim.NodeRange(0, id))
	case 7:
		n.Cut(sim.Nodes(id), sim.AllNodes)
	case 8:
		n.Heal()
	case 9:
		n.Command(id, "leave")
	case 10:
		n.SetLink(sim.Nodes(id), sim.AllNodes, link.Change{
			Fields: link.FieldDuplicate | link.FieldReorder, To: link.Quality{Duplicate: 0.1, Reorder: 0.1},
		})
	}
}

// TestHistogram: quantiles are within a class, 3 %.
func TestHistogram(t *testing.T) {
	var h histogram
	for i := range 10_000 {
		h.add(time.Duration(i+1) * time.Microsecond)
	}
	for _, q := range []float64{0, 0.1, 0.5, 0.9, 0.99, 1} {
		want := max(time.Duration(q*10_000), 1) * time.Microsecond
		if got := h.quantile(q); got < want*96/100 || got > want*101/100 {
			t.Errorf("quantile %v is %v, want about %v", q, got, want)
		}
	}
}
