package gossipsim

import (
	"time"

	"ulnet/gossip"
	"ulnet/lnd/link"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
)

// Interval is the gossip interval of measurements.
const Interval = 200 * time.Millisecond

// Flat is a network like that of a machine room. Its latency is 1 ms, give or take a fifth, and
// it loses messages with the given probability.
func Flat(loss float64) *sim.Flat {
	return &sim.Flat{Link: link.Quality{
		Latency: link.Dist{Base: time.Millisecond, Spread: 200 * time.Microsecond, Shape: link.Uniform}, Loss: loss,
	}}
}

// Measured has the parameters that measurements share.
type Measured struct {
	Nodes   int     // number of nodes
	Columns int     // number of tracked nodes, which are the first ones; 0: all nodes
	Loss    float64 // probability of the loss of a message, 0 to 1
	Seed    uint64  // seed of the run
	Strict  bool    // gossip in strict mode, as the design says
}

// config returns the configuration of a measurement in which all nodes start at once.
func (c Measured) config() Config {
	return Config{
		Network: scenario.Network{Nodes: c.Nodes, Seed: c.Seed, Topology: Flat(c.Loss)}, Bare: true,
		Gossip: gossip.Config{Interval: Interval, Strict: c.Strict, ColdStart: true}, Columns: c.Columns,
	}
}

// cyclesOf returns a time in gossip cycles, rounded up.
func cyclesOf(d time.Duration) int { return int((d + Interval - 1) / Interval) }
