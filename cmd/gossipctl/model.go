package main

import (
	"math"
	"time"

	"ulnet/cmd/internal/config"
	"ulnet/gossip/engine"
	gossipwire "ulnet/gossip/wire"
)

// robustLoss is the share of lost messages up to which a participant is not wrongly declared
// dead with the default age limit.
const robustLoss = 0.2

// floor is the smallest default of the age limit above which a participant is dead.
const floor = 16

// model predicts how a cluster of n participants behaves: where possible from the rules of the
// protocol, otherwise from simulations of up to 1024 machines.
type model struct {
	n      int
	loss   float64 // share of messages that are lost, 0 or more
	cfg    config.Gossip
	limits engine.Limits
}

func newModel(n int, loss float64) model {
	m := model{n: n, loss: loss, cfg: config.Default().Gossip}
	if loss > robustLoss {
		// With a higher loss, news needs more cycles and hops, each of which adds one to an age. So the age
		// limit needs more slack. In a small cluster the computed limit is below the floor, which is used
		// instead. There, slack has an effect only above the difference of the two, which is added here.
		calm := model{n: n, loss: robustLoss}
		m.cfg.DeadSlack += int(math.Ceil(2*(m.spread()-calm.spread()))) + max(0, floor-m.withoutFloor())
	}
	m.limits, _ = m.machine().Limits(n) // cannot fail for losses up to 0.6
	return m
}

func (m model) machine() engine.Config {
	g := m.cfg
	g.Interval = time.Second // any interval, since the limits do not depend on it
	return g.Agent().Engine()
}

// withoutFloor returns the age limit as it would be without the floor.
func (m model) withoutFloor() int {
	c := m.machine()
	c.DeadFloor = 1
	l, _ := c.Limits(m.n)
	return l.Dead
}

// spread returns the median number of cycles until all nodes know of a newcomer. In each cycle,
// a node that knows of it pings one other node and is pinged by one, so each cycle multiplies
// the number of nodes that know by 1 + q + q², where q is the share of messages that arrive.
func (m model) spread() float64 {
	q := 1 - m.loss
	return math.Log(float64(m.n))/math.Log(1+q+q*q) + 1
}

// latest returns the number of cycles after which all nodes certainly know of a death, because an
// age is at least the number of cycles since the last sign of the participant.
func (m model) latest() int { return m.limits.Dead + 1 }

// expected returns the average number of cycles until a node knows of a death. It is a little
// less than the limit, because the last sign of the participant arrives by way of other nodes,
// and is then already some cycles old.
func (m model) expected() float64 { return float64(m.limits.Dead) - 2 }

// bytes returns the bytes that a node sends in a cycle. It sends a ping with all ages, and
// answers another node's ping with those ages that are lower than the ages in the ping by at
// least 2 plus the fudge. If the partner seems dead because messages are lost, the node sends
// the ping to a second partner as well.
func (m model) bytes() float64 {
	n := float64(m.n)
	fresher := n * 0.375 * math.Exp(-0.43*float64(m.limits.Fudge)) * (0.95 + m.loss)
	reply := math.Min(math.Ceil(n/8)+fresher, 5*fresher)
	once := gossipwire.HeaderSize + n + (1-m.loss)*(gossipwire.HeaderSize+reply)
	return once * (1 + 2*m.loss*m.loss)
}

// round rounds x to a multiple of 1/unit.
func round(x, unit float64) float64 { return math.Round(x*unit) / unit }
