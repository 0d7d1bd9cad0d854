package gossipsim_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"ulnet/gossip/gossipsim"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/scenariotest"
)

// sweeps skips a test under the race detector: it simulates millions of steps in one goroutine,
// which cannot have a race.
func sweeps(t *testing.T) {
	t.Helper()
	if effort.Race {
		t.Skip("one goroutine, many steps: skipped under the race detector")
	}
}

func propagate(t *testing.T, m gossipsim.Measured) *gossipsim.Propagation {
	t.Helper()
	newcomers := 64
	m.Columns = newcomers
	p, err := m.Propagate(newcomers)
	if err != nil {
		t.Fatalf("%+v: %v", m, err)
	}
	return p
}

// TestPropagation (GO-1, GO-16, GO-36): all participants learn of a newcomer within about 0.8
// log2 N cycles, or at most three cycles more with 5 % loss. The newcomer's clock is in sync
// after one exchange.
func TestPropagation(t *testing.T) {
	spec.Covers(t, "GO-1", "GO-16", "GO-36")
	sweeps(t)
	sizes := []int{128, 1000, 10_000, 65_536}[:effort.Of(2, 2, 4)]
	for _, n := range sizes {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			clean := propagate(t, gossipsim.Measured{Nodes: n, Seed: 1})
			lossy := propagate(t, gossipsim.Measured{Nodes: n, Seed: 2, Loss: 0.05})
			p50, limit := lossy.Known[32], int(math.Ceil(0.8*math.Log2(float64(n))))
			if p50 > limit {
				t.Errorf("median %d cycles at 5 %% loss, want %d", p50, limit)
			}
			if more := p50 - clean.Known[32]; more > 3 {
				t.Errorf("loss of 5 %% costs %d cycles, want 3", more)
			}
			if worst := lossy.Known[63]; worst > limit+3 {
				t.Errorf("worst %d cycles, want %d", worst, limit+3)
			}
			late := 0
			for _, cycles := range lossy.Synced {
				if cycles > 2 {
					late++
				}
			}
			if len(lossy.Synced) != 64 || late > 0 {
				t.Errorf("%d of %d newcomers in sync, %d after more than two cycles", len(lossy.Synced), 64, late)
			}
		})
	}
}

// TestFalseDeaths (GO-A1): no node dies, and up to 20 % of the messages are lost. With the default
// limit of death no live node is considered dead (with 20 % loss, in at most one sample of a
// million). With the limit of the design, a live node is considered dead in at least one sample of
// a hundred.
func TestFalseDeaths(t *testing.T) {
	spec.Covers(t, "GO-A1")
	sweeps(t)
	some := []int{256, 64}
	want := effort.Seeds[uint64](100_000, 100_000, 100_000_000)
	for _, n := range effort.Of(some, some, []int{256, 16, 64, 8}) {
		for _, loss := range []float64{0, 0.05, 0.20} {
			t.Run(fmt.Sprintf("%d nodes, loss %v", n, loss), func(t *testing.T) {
				s, err := gossipsim.Measured{Nodes: n, Loss: loss, Seed: 1}.Sample(t.Context(), want)
				if err != nil {
					t.Fatal(err)
				}
				if s.Dead > 0 && (loss < 0.2 || s.Share() > 1e-6) {
					t.Errorf("%d of %d samples are dead", s.Dead, s.Total)
				}
				strict, err := gossipsim.Measured{Nodes: n, Loss: loss, Seed: 1, Strict: true}.Sample(t.Context(), want/10)
				if err != nil {
					t.Fatal(err)
				}
				if strict.Share() < 0.01 {
					t.Errorf("strict: %d of %d samples are dead, want a hundredth at least", strict.Dead, strict.Total)
				}
			})
		}
	}
}

// TestObsolete (GO-A3, GO-31): no fresh message is dropped as obsolete with our limit, although
// the design's limit drops some. A message that was delayed by twice the threshold of death is
// always dropped.
func TestObsolete(t *testing.T) {
	spec.Covers(t, "GO-31", "GO-A3")
	sweeps(t)
	some := []int{16, 1000}
	for _, n := range effort.Of(some, some, []int{16, 128, 1000}) {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			samples := 16 * effort.Seeds[uint64](25_000, 25_000, 10_000_000)
			s, err := gossipsim.Measured{Nodes: n, Columns: 16, Loss: 0.05, Seed: 3}.Sample(t.Context(), samples)
			if err != nil {
				t.Fatal(err)
			}
			if s.Obsolete > 0 {
				t.Errorf("%d of %d fresh messages are obsolete", s.Obsolete, s.Messages)
			}
			strict, err := gossipsim.Measured{Nodes: n, Columns: 16, Loss: 0.05, Seed: 3, Strict: true}.Sample(t.Context(), samples)
			if err != nil {
				t.Fatal(err)
			}
			if share := float64(strict.Obsolete) / float64(strict.Messages); share < 0.001 || share > 0.3 {
				t.Errorf("strict: %d of %d fresh messages are obsolete", strict.Obsolete, strict.Messages)
			}
		})
	}
	seed := uint64(1)
	res := scenariotest.Run(t, parse(t, held), scenario.Options{Seed: &seed})
	if late, dropped := res.Stats.Reordered, res.Measure("obsolete messages"); late < 100 || dropped != float64(late) {
		t.Errorf("%.0f of %d messages that came late were dropped", dropped, late)
	}
}

// held is a scenario that delays some messages by twice the age at which one of 64 nodes counts as
// dead.
const held = `protocol gossip
nodes 64
run 67.2s
link latency 1ms±200µs reorder 1% hold 6.8s
at 1m link all -> all reorder 0%
`

const death = `protocol gossip
nodes %d
run 30s
link latency 1ms±200µs loss 5%%
at %v crash %d
expect dead %[3]d
`

// at returns an instant when all nodes know each other, at a phase of the cycle that depends on the
// seed.
func at(seed uint64) time.Duration {
	return 12*time.Second + time.Duration(seed%uint64(gossipsim.Interval))
}

// TestDetection (GO-A2): all nodes detect a death within Limits.Dead + 1 cycles.
func TestDetection(t *testing.T) {
	spec.Covers(t, "GO-A2")
	sweeps(t)
	for _, n := range []int{8, 64, 256} {
		for seed := range effort.Seeds[uint64](3, 3, 20) {
			seed *= 7919 * seed
			res := scenariotest.Run(t, parse(t, fmt.Sprintf(death, n, at(seed), 1+seed%uint64(n))), scenario.Options{Seed: &seed})
			scenariotest.Holds(t, res)
			first, last, limit := res.Measure("detected first after"), res.Measure("detected last after"), res.Measure("dead after more than")+1
			if last > limit || first > last || first < 1 {
				t.Errorf("%d nodes, seed %d: noticed after %.2f to %.2f cycles, want %.0f at most", n, seed, first, last, limit)
			}
		}
	}
}

// TestQuickReboot (GO-73, GO-74, GO-75): every peer reports every reboot before the new
// incarnation speaks, and reports no death after that.
func TestQuickReboot(t *testing.T) {
	spec.Covers(t, "GO-73", "GO-74", "GO-75")
	sweeps(t)
	rounds := effort.Seeds(3, 3, 125)
	for _, n := range []int{24, 64, 256} {
		r, err := gossipsim.Measured{Nodes: n, Columns: 8, Loss: 0.01, Seed: 5}.Reboot(rounds)
		if err != nil {
			t.Fatal(err)
		}
		if r.Noticed != r.Made || r.Mistakes > 0 || r.Made != 8*rounds {
			t.Errorf("%d nodes: %d of %d reboots noticed by all, %d deaths told too late", n, r.Noticed, r.Made, r.Mistakes)
		}
	}
}
