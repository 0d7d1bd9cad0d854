package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"ulnet/gossip/engine"
	gossipwire "ulnet/gossip/wire"
	"ulnet/lnet/nid"
)

// cycle is the interval of the machines in virtual time.
const cycle = time.Second

// cluster is a set of machines. A message between two of them arrives without delay, or is lost.
type cluster struct {
	list     *engine.List
	machines []*engine.Machine
	wakes    []time.Duration
	rng      *rand.Rand
	loss     float64
	bytes    int
	dead     int                   // number of the dead participant; -1: none is dead
	noticed  map[int]time.Duration // for each participant, when it first declared the dead participant dead
}

func newCluster(t *testing.T, n int, loss float64, seed uint64) *cluster {
	t.Helper()
	var ids []nid.NID
	for i := range n {
		ids = append(ids, nid.FromNumber(nid.MustParseNet("tcp"), uint32(10<<24+i+1)))
	}
	list, err := engine.NewList(ids)
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{list: list, wakes: make([]time.Duration, n), rng: rand.New(rand.NewPCG(seed, 1)), loss: loss, dead: -1, noticed: map[int]time.Duration{}}
	for i := range n {
		m, err := engine.New(engine.Config{Interval: cycle, ColdStart: true, Seed: c.rng.Uint64()}, list, i)
		if err != nil {
			t.Fatal(err)
		}
		c.machines = append(c.machines, m)
	}
	return c
}

// step steps a machine, and the machines that its messages reach.
func (c *cluster) step(i int, now time.Duration, in engine.Input) {
	var out engine.Output
	c.wakes[i] = c.machines[i].Step(now, in, &out)
	for _, e := range out.Events {
		if _, again := c.noticed[i]; e.Kind == engine.Died && c.dead >= 0 && e.NID == c.list.NID(c.dead) && !again {
			c.noticed[i] = now
		}
	}
	for k := range out.Sends {
		s := &out.Sends[k]
		data := s.Data(&out)
		c.bytes += len(data)
		to := c.list.Index(s.To)
		if to == c.dead || c.rng.Float64() < c.loss {
			continue
		}
		kind := engine.Ping
		if s.Reply {
			kind = engine.Reply
		}
		c.step(to, now, engine.Input{Kind: kind, From: c.list.NID(i), Data: data})
	}
}

// run runs the machines up to an instant.
func (c *cluster) run(until time.Duration) {
	for {
		next := -1
		for i, at := range c.wakes {
			if i != c.dead && at < until && (next < 0 || at < c.wakes[next]) {
				next = i
			}
		}
		if next < 0 {
			return
		}
		c.step(next, c.wakes[next], engine.Input{})
	}
}

// TestModel: the predicted times are those that machines need in virtual time.
func TestModel(t *testing.T) {
	const measured = 20 // number of cycles that are measured
	for _, n := range []int{16, 64, 128} {
		for _, loss := range []float64{0, 0.05, 0.2} {
			t.Run(fmt.Sprintf("%d nodes, loss %v", n, loss), func(t *testing.T) {
				const seed = 7
				m := newModel(n, loss)
				c := newCluster(t, n, loss, seed)
				begin := time.Duration(n+40) * cycle // from this time on, messages no longer carry the parameters
				c.run(begin)
				c.bytes = 0
				c.run(begin + measured*cycle)
				bytes := float64(c.bytes) / float64(n) / measured
				if math.Abs(m.bytes()/bytes-1) > 0.06 {
					t.Errorf("seed %d: %.0f bytes per node and cycle, predicted %.0f", seed, bytes, m.bytes())
				}
				died := begin + measured*cycle
				c.dead = c.rng.IntN(n)
				c.run(died + time.Duration(m.latest())*cycle)
				if len(c.noticed) != n-1 {
					t.Fatalf("seed %d: %d of %d noticed the death within %d cycles", seed, len(c.noticed), n-1, m.latest())
				}
				var sum time.Duration
				for _, at := range c.noticed {
					sum += at - died
				}
				if mean := sum.Seconds() / float64(n-1) / cycle.Seconds(); math.Abs(mean-m.expected()) > 3 {
					t.Errorf("seed %d: noticed after %.1f cycles on average, predicted %.1f", seed, mean, m.expected())
				}
			})
		}
	}
}

// TestModelSpread: for these sizes and a loss of 5 %, the median time until a newcomer is known
// everywhere is 8, 10, 12 and 14 cycles, as in simulations.
func TestModelSpread(t *testing.T) {
	for n, want := range map[int]float64{1_000: 8, 10_000: 10, 100_000: 12, 1_000_000: 14} {
		if got := newModel(n, 0.05).spread(); math.Abs(got-want) > 1 {
			t.Errorf("%d nodes: %.1f cycles, want about %v", n, got, want)
		}
	}
}

// TestModelLoss: a high loss rate raises the limit after which a participant is declared dead,
// in small clusters too.
func TestModelLoss(t *testing.T) {
	for _, n := range []int{2, 8, 64, 1000, gossipwire.MaxParticipants} {
		calm := newModel(n, 0).limits.Dead
		last := calm
		for _, loss := range []float64{0.2, 0.3, 0.4, 0.6} {
			m := newModel(n, loss)
			if _, err := m.machine().Limits(n); err != nil {
				t.Errorf("%d nodes, loss %v: %v", n, loss, err)
			}
			if m.limits.Dead < last || (m.limits.Dead > calm) != (loss > robustLoss) {
				t.Errorf("%d nodes, loss %v: dead after %d cycles, %d with less loss, %d without", n, loss, m.limits.Dead, last, calm)
			}
			last = m.limits.Dead
		}
	}
}
