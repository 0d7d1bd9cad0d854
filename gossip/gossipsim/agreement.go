package gossipsim

import (
	"fmt"
	"time"

	"ulnet/lnd/sim"
)

// Agreed is what it took until all nodes of a cluster knew each other.
type Agreed struct {
	Cycles int // from the common start
	Steps  uint64
	Bytes  uint64 // sent
	Net    *Net
}

// Agree starts all nodes at once and lets them run until all tracked ones are
// known to all.
func (c Measured) Agree() (a Agreed, err error) {
	if a.Net, err = New(c.config()); err != nil {
		return a, err
	}
	for a.Cycles = 1; a.Cycles <= 100; a.Cycles++ {
		if err := a.Net.Run(time.Duration(a.Cycles) * Interval); err != nil {
			return a, err
		}
		if ok, _ := a.Net.AliveExactly(c.columns(), sim.AllNodes); ok {
			s := a.Net.Stats()
			a.Steps, a.Bytes = s.Steps, s.SentBytes
			return a, nil
		}
	}
	return a, fmt.Errorf("gossipsim: %d nodes do not agree after %d cycles", c.Nodes, a.Cycles-1)
}

// Traffic is the bytes that a node sends per cycle, payload only, in so many
// cycles after the parameters have gone.
func (c Measured) Traffic(cycles int) (float64, error) {
	net, err := New(c.config())
	if err != nil {
		return 0, err
	}
	begin := time.Duration(c.Nodes+settle) * Interval
	if err := net.Run(begin); err != nil {
		return 0, err
	}
	before := net.Stats().SentBytes
	if err := net.Run(begin + time.Duration(cycles)*Interval); err != nil {
		return 0, err
	}
	return float64(net.Stats().SentBytes-before) / float64(cycles) / float64(c.Nodes), nil
}
