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
	"ulnet/lnd/sim/scenario/kit"
	"ulnet/lnd/simlnd"
)

// told is an event that a node reported.
type told struct {
	at   time.Duration
	node sim.NodeID
	sim.Event
}

// start makes a network on links of 1 ms, and records the events of its nodes.
func start(t *testing.T, cfg config, loss float64) (*network, *[]told) {
	t.Helper()
	cfg.Topology = &sim.Flat{Link: link.Quality{
		Latency: link.Dist{Base: time.Millisecond, Spread: 200 * time.Microsecond, Shape: link.Uniform}, Loss: loss,
	}}
	var events []told
	cfg.OnEvent = func(at time.Duration, node sim.NodeID, ev sim.Event) {
		events = append(events, told{at, node, ev})
	}
	n, err := newNetwork(cfg)
	if err != nil {
		t.Fatal(err)
	}
	run(t, n, 0)
	return n, &events
}

// run runs the network for d of virtual time.
func run(t *testing.T, n *network, d time.Duration) {
	t.Helper()
	if err := n.Run(n.Now() + d); err != nil {
		t.Fatal(err)
	}
}

// stop stops new operations on all nodes, and runs until those in flight have ended.
func stop(t *testing.T, n *network) {
	t.Helper()
	for id := range n.Nodes() {
		n.Command(sim.NodeID(id), "stop")
	}
	run(t, n, time.Minute)
	if under := n.outstanding(); under > 0 {
		t.Errorf("%d operations are under way for ever", under)
	}
	if ok, why := n.Check("credits-returned", nil); !ok {
		t.Error(why)
	}
}

// TestThousandPing: a thousand nodes ping each other on perfect links. Every ping is answered.
func TestThousandPing(t *testing.T) {
	n, _ := start(t, config{Network: scenario.Network{Nodes: 1000, Seed: 1}, Kind: ping, Rate: 5, Partners: 2}, 0)
	run(t, n, time.Second)
	stop(t, n)
	s := n.counters()
	if s.Begun < 4_500 || s.Answered != s.Begun || s.Failed > 0 || s.Drops > 0 {
		t.Errorf("%+v", s)
	}
	if p50 := kit.Quantile(n.took, 0.5); p50 < 1600*time.Microsecond || p50 > 2400*time.Microsecond {
		t.Errorf("a ping takes %v on links of 1 ms", p50)
	}
}

// TestLoss: operations whose messages are lost fail by their timeout, all others are
// answered, and no credit or MD is lost.
func TestLoss(t *testing.T) {
	for _, kind := range []kind{put, get} {
		n, _ := start(t, config{Network: scenario.Network{Nodes: 60, Seed: 2}, Kind: kind, Rate: 10, Partners: 10, Discovery: true}, 0.02)
		run(t, n, 20*time.Second)
		stop(t, n)
		s := n.counters()
		lost := float64(s.Failed) / float64(s.Begun)
		if s.Answered+s.Failed != s.Begun || s.Twice+s.Phantoms > 0 || lost < 0.02 || lost > 0.08 {
			t.Errorf("kind %d: %.1f%% failed of %+v", kind, 100*lost, s)
		}
		if s.Unanswered == 0 {
			t.Error("no MD was given up, with losses")
		}
	}
}

// TestKilledPeer: operations on a process that dies fail with an event, at once or after the
// timeout, and credits are returned.
func TestKilledPeer(t *testing.T) {
	for _, tt := range []struct {
		name   string
		end    func(*network)
		within time.Duration
	}{
		{"process", func(n *network) { n.Kill(0) }, 16 * time.Second},
		{"host", func(n *network) { n.Crash(0) }, 16 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n, events := start(t, config{Network: scenario.Network{Nodes: 10, Seed: 3}, Discovery: true}, 0)
			for from := 1; from < 10; from++ {
				begin(n, sim.NodeID(from), 0, put, 5, false)
			}
			run(t, n, time.Second)
			tt.end(n)
			for from := 1; from < 10; from++ {
				begin(n, sim.NodeID(from), 0, put, 50, false)
			}
			died := n.Now()
			run(t, n, tt.within)
			failed := 0
			for _, e := range *events {
				if e.Kind == uint16(toldFailed) {
					failed++
					if e.at-died > tt.within {
						t.Errorf("failed after %v", e.at-died)
					}
				}
			}
			if failed != 9*50 || n.stats.Answered != 9*5 {
				t.Errorf("%d failed, %+v", failed, n.stats)
			}
			stop(t, n)
			// After the restart the nodes reach the new incarnation.
			n.Start(0, false)
			run(t, n, time.Second)
			begin(n, 1, 0, put, 1, false)
			run(t, n, 5*time.Second)
			if n.stats.Answered != 9*5+1 {
				t.Error("the next life is not reached")
			}
		})
	}
}

// TestPausedPeer: credits to a paused peer are used up, messages queue, priority messages
// overtake them, and all are sent when it resumes.
func TestPausedPeer(t *testing.T) {
	n, events := start(t, config{
		Network: scenario.Network{Nodes: 3, Seed: 4}, Window: 4096, Size: 1000, Timeout: time.Minute,
	}, 0)
	begin(n, 1, 0, put, 1, false)
	run(t, n, time.Second)
	n.Pause(0)
	begin(n, 1, 0, put, 100, false)
	begin(n, 1, 0, put, 1, true)
	run(t, n, time.Second)
	p := n.members[1].stack.Node.Snapshot().Peers[0]
	if p.Queued < 80 || p.Credits != -p.Queued || p.MinCredits > p.Credits {
		t.Errorf("%d messages queue, %d credits, %d at least", p.Queued, p.Credits, p.MinCredits)
	}
	if begin(n, 1, 2, put, 1, false); n.stats.Answered != 1 {
		t.Errorf("%+v", n.stats)
	}
	run(t, n, time.Second)
	if n.stats.Answered != 2 {
		t.Error("a paused peer keeps messages to others back")
	}
	before := len(*events)
	n.Resume(0)
	run(t, n, 10*time.Second)
	if s := n.stats; s.Answered != s.Begun || s.Failed > 0 {
		t.Errorf("after the pause: %+v", s)
	}
	var order []uint64
	for _, e := range (*events)[before:] {
		if e.Kind == uint16(history.Delivery) {
			order = append(order, e.Value)
		}
	}
	const urgent = 102 // number of the operation with priority
	if i := slices.Index(order, urgent); i < 0 || i > 10 {
		t.Errorf("the priority message was number %d of those that waited", i+1)
	}
	stop(t, n)
}

// TestLeave: the operations of a node that shuts down fail; other nodes lose no credits.
func TestLeave(t *testing.T) {
	n, _ := start(t, config{Network: scenario.Network{Nodes: 20, Seed: 5}, Rate: 50, Discovery: true}, 0)
	run(t, n, time.Second)
	n.Command(7, "leave")
	run(t, n, time.Second)
	if s := n.stats; s.Failed == 0 || s.Answered < 500 {
		t.Errorf("%+v", s)
	}
	stop(t, n)
}

// TestSameSeed makes two runs with equal seeds and every kind of fault. Both must have the same events.
func TestSameSeed(t *testing.T) {
	play := func(seed uint64) string {
		n, events := start(t, config{
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
		return fmt.Sprintf("%x %d events %+v", n.Digest(), len(*events), n.counters())
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

// fault applies a kind of fault to a node.
func fault(n *network, kind int, id sim.NodeID) {
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

// begin makes a node start operations of one kind, as many as count says.
func begin(n *network, from, to sim.NodeID, of kind, count int, urgent bool) {
	n.Fabric.Do(from, func(*simlnd.Host) {
		for range count {
			n.members[from].begin(of, to, urgent)
		}
	})
}
