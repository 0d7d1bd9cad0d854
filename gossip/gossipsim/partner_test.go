package gossipsim_test

import (
	"testing"
	"time"

	"ulnet/gossip/engine"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/nid"
)

// TestPartners (GO-22): partners are drawn evenly from all other participants, independently of
// the previous partner, and the first cycle begins at a random phase.
func TestPartners(t *testing.T) {
	spec.Covers(t, "GO-22")
	sweeps(t)
	const nodes, draws, self = 11, 1_000_000, 4
	list := participants(t, nodes)
	m, err := engine.New(engine.Config{Interval: time.Second, ColdStart: true, Seed: 9}, list, self)
	if err != nil {
		t.Fatal(err)
	}
	var counts [nodes][nodes]int // counts[i][k]: how often a node pinged k just after i
	var out engine.Output
	last, now := 0, m.Step(0, engine.Input{}, &out)
	for range draws {
		out.Reset()
		now = m.Step(now, engine.Input{}, &out)
		to := list.Index(out.Sends[0].To)
		counts[last][to]++
		last = to
	}
	chi := 0.0
	const want = float64(draws) / (nodes - 1) / (nodes - 1)
	for i, row := range counts {
		for k, c := range row {
			if i == self || k == self {
				if c > 1 { // the first partner of a node has no previous one
					t.Errorf("%d pings of ourselves", c)
				}
				continue
			}
			chi += (float64(c) - want) * (float64(c) - want) / want
		}
	}
	// χ² test with 99 degrees of freedom: of 10 000 runs with even draws, one exceeds 160.
	if chi > 160 {
		t.Errorf("chi square of pairs of partners is %.1f", chi)
	}
}

// TestPhases (GO-22): first cycles are spread over the interval.
func TestPhases(t *testing.T) {
	spec.Covers(t, "GO-22")
	const nodes = 2000
	list := participants(t, nodes)
	var tenths [10]int
	for i := range nodes {
		m, err := engine.New(engine.Config{Interval: time.Second, Seed: uint64(i)}, list, i)
		if err != nil {
			t.Fatal(err)
		}
		var out engine.Output
		first := m.Step(0, engine.Input{}, &out)
		tenths[min(int(first/(100*time.Millisecond)), 9)]++
	}
	for i, c := range tenths {
		if c < nodes/10-60 || c > nodes/10+60 {
			t.Errorf("%d of %d first cycles begin in tenth %d of the interval", c, nodes, i)
		}
	}
}

func participants(t *testing.T, n int) *engine.List {
	t.Helper()
	ids := make([]nid.NID, n)
	for i := range ids {
		ids[i] = simlnd.NID(sim.NodeID(i))
	}
	l, err := engine.NewList(ids)
	if err != nil {
		t.Fatal(err)
	}
	return l
}
