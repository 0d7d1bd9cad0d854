package main

import (
	"math"
	"time"

	"ulnet/cmd/internal/config"
	"ulnet/gossip/engine"
	gossipwire "ulnet/gossip/wire"
)

// robustLoss is the share of lost messages up to which the default limit of death causes no
// false deaths.
const robustLoss = 0.2

// floor is the least limit of death by default.
const floor = 16

// model predicts how a cluster of n participants behaves: from the rules of the protocol where
// these determine it, otherwise from simulations of up to 1024 machines.
type model struct {
	n      int
	loss   float64 // share of messages that are lost, from 0 on
	cfg    config.Gossip
	limits engine.Limits
}

func newModel(n int, loss float64) model {
	m := model{n: n, loss: loss, cfg: config.Default().Gossip}
	if loss > robustLoss {
		// With more loss news takes more cycles and hops, each of which adds one to
		// its age. A small cluster has the floor as its limit: the slack must lift
		// the limit to the floor before more slack has an effect.
		calm := model{n: n, loss: robustLoss}
		m.cfg.DeadSlack += int(math.Ceil(2*(m.spread()-calm.spread()))) + max(0, floor-m.withoutFloor())
	}
	m.limits, _ = m.machine().Limits(n) // cannot fail for losses up to 0.6
	return m
}

func (m model) machine() engine.Config {
	g := m.cfg
	g.Interval = time.Second // any value: the limits do not depend on the interval
	return g.Agent().Engine()
}

// withoutFloor returns the age limit that would hold without the least limit.
func (m model) withoutFloor() int {
	c := m.machine()
	c.DeadFloor = 1
	l, _ := c.Limits(m.n)
	return l.Dead
}

// spread returns the median number of cycles until all nodes know of a newcomer. A node that knows
// tells one other node per cycle and is asked by one, so each cycle multiplies the number of nodes
// that know by 1 + q + q², where q is the share of messages that arrive.
func (m model) spread() float64 {
	q := 1 - m.loss
	return math.Log(float64(m.n))/math.Log(1+q+q*q) + 1
}

// latest returns the number of cycles after which all nodes know of a death at the latest. It
// holds because an age is at least the number of cycles since the last sign of the participant.
func (m model) latest() int { return m.limits.Dead + 1 }

// expected returns the average number of cycles until a node knows of a death. It is a little
// less than the limit, because the last news of a participant comes by way of others, and is
// already some cycles old when it arrives.
func (m model) expected() float64 { return float64(m.limits.Dead) - 2 }

// bytes returns the bytes that a node sends in a cycle. These are a ping with all ages, and an
// answer to another node's ping, with those ages that are lower than the ping's by at least 2
// and the fudge. If lost messages make the partner seem dead, the node sends the same again to
// a second partner.
func (m model) bytes() float64 {
	n := float64(m.n)
	fresher := n * 0.375 * math.Exp(-0.43*float64(m.limits.Fudge)) * (0.95 + m.loss)
	reply := math.Min(math.Ceil(n/8)+fresher, 5*fresher)
	once := gossipwire.HeaderSize + n + (1-m.loss)*(gossipwire.HeaderSize+reply)
	return once * (1 + 2*m.loss*m.loss)
}

// round rounds x to a multiple of 1/unit.
func round(x, unit float64) float64 { return math.Round(x*unit) / unit }
