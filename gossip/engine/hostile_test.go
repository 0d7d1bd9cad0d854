package engine

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"ulnet/gossip/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// hostile returns a cluster of n nodes that have run for a while. The Lamport clocks of all nodes began at the given
// value.
func hostile(t *testing.T, n int, clock uint64) *troubled {
	t.Helper()
	c := &troubled{t: t, rng: rand.New(rand.NewPCG(uint64(n), clock)), old: testList(t, n)}
	for _, id := range testNIDs(n) {
		c.nodes = append(c.nodes, &troubledNode{id: id})
	}
	for _, n := range c.nodes {
		c.boot(n, c.old)
		n.m.clock.value = clock
	}
	c.pass(2 * c.nodes[0].m.Limits().Stealth)
	c.honest("before")
	return c
}

// pass runs the cluster for a number of cycles.
func (c *troubled) pass(cycles int) { c.run(c.now+time.Duration(cycles)*interval, false) }

// forge delivers a ping to the node to, in the name of the node from. The ping says that its sender has heard of no
// other participant.
func (c *troubled) forge(to, from int, clock uint64) {
	ages := bytes.Repeat([]byte{unheard}, len(c.nodes))
	ages[from] = 0
	h := wire.Header{N: uint32(len(c.nodes)), Clock: clock}
	c.step(c.nodes[to], Input{Kind: Ping, From: c.nodes[from].id, Data: append(h.AppendTo(nil), ages...)})
}

// honest checks that all nodes consider all others alive, and that their clocks are in step.
func (c *troubled) honest(when string) {
	c.t.Helper()
	low, high := uint64(1<<63), uint64(0)
	for _, n := range c.nodes {
		if n.m.AliveCount() != len(c.nodes) || n.m.Unsure() || n.m.Stopped() {
			c.t.Errorf("%s: %v takes %d of %d for alive, unsure %v, stopped %v, clock %d, %+v",
				when, n.id, n.m.AliveCount(), len(c.nodes), n.m.Unsure(), n.m.Stopped(), n.m.Clock(), n.m.Stats())
		}
		low, high = min(low, n.m.Clock()), max(high, n.m.Clock())
	}
	if high-low > uint64(c.nodes[0].m.Limits().Obsolete) {
		c.t.Errorf("%s: clocks from %d to %d", when, low, high)
	}
}

// deaths returns how many deaths the nodes have reported so far.
func (c *troubled) deaths() (n uint64) {
	for _, node := range c.nodes {
		for _, d := range node.m.health.died {
			n += d
		}
	}
	return n
}

// again restarts a node after an attack, and checks that the others accept it. If the attack had a lasting effect,
// they might refuse it.
func (c *troubled) again(node int) {
	c.t.Helper()
	c.boot(c.nodes[node], c.old)
	c.pass(3 * c.nodes[0].m.Limits().Stealth)
	c.honest("after the restart of the victim")
}

// extremes returns clocks that an attacker would put into forged messages to a node with the given
// clock.
func extremes(clock uint64) []uint64 {
	return []uint64{
		1<<64 - 1, 1 << 63, 1 << 62, maxClock, maxClock - 1, maxClock - 2, clock + maxJump + 1, clock + maxJump,
		clock + 41, clock + 40, clock + 100, clock + 10_000, clock - 41, clock - 1000, 1, 0,
	}
}

// TestForgedPings: two pings with two forged senders, whatever their clocks, do not put a node
// out of step, and do not make a node appear dead (GO-66, GO-A10).
func TestForgedPings(t *testing.T) {
	spec.Covers(t, "GO-66", "GO-A10")
	for _, n := range []int{3, 4, 8, 16} {
		const start = 1_000_000
		for i := range extremes(start) {
			c := hostile(t, n, start)
			before := c.deaths()
			for _, from := range []int{1, 2} {
				c.forge(0, from, extremes(c.nodes[0].m.Clock())[i])
			}
			c.pass(2 * c.nodes[0].m.Limits().Dead)
			c.honest(fmt.Sprintf("%d nodes, two pings with clock %d of %d", n, i, len(extremes(start))))
			if d := c.deaths(); d != before {
				t.Errorf("%d nodes, clock %d: %d deaths were told", n, i, d-before)
			}
			if clock := c.nodes[0].m.Clock(); clock > start+100_000 {
				t.Errorf("%d nodes, clock %d: the clock is %d", n, i, clock)
			}
		}
	}
}

// TestManyForgedPings: forged pings in the name of one participant have no effect. Forged pings in the names of two
// participants have an effect only as long as they go on: at the latest 2*Limits.Stealth cycles after the last one,
// all nodes are in step again. It does not matter whether one node or six of eight received them (GO-66).
func TestManyForgedPings(t *testing.T) {
	spec.Covers(t, "GO-66")
	const n, start = 8, 1_000_000
	for _, liars := range []int{1, 2} {
		for _, victims := range []int{1, n - 2} {
			for i := range extremes(start) {
				what := fmt.Sprintf("%d liars, %d victims, clock %d", liars, victims, i)
				c := hostile(t, n, start)
				before := c.deaths()
				for range 6 * c.nodes[0].m.Limits().Dead {
					for v := range victims {
						for l := range liars {
							c.forge(v, n-1-l, extremes(c.nodes[v].m.Clock())[i])
						}
					}
					c.pass(1)
				}
				if liars == 1 {
					c.honest(what)
					if d := c.deaths(); d != before {
						t.Errorf("%s: %d deaths were told", what, d-before)
					}
				}
				c.pass(2 * c.nodes[0].m.Limits().Stealth)
				c.honest(what + ", after the attack")
				c.again(0)
			}
		}
	}
}

// TestHearsOnlyObsolete: a node whose clock is far ahead of all others, for whatever reason, adopts the clock of the
// others before they consider it dead (GO-66).
func TestHearsOnlyObsolete(t *testing.T) {
	spec.Covers(t, "GO-66")
	for _, n := range []int{3, 8, 16} {
		for _, clock := range []uint64{5000, 1 << 22, maxClock - 1, maxClock, 1 << 62} {
			c := hostile(t, n, 1000)
			before := c.deaths()
			victim := c.nodes[0].m
			victim.clock.value = clock
			victim.clock.lost(victim.cycle)
			c.pass(2 * victim.Limits().Dead)
			c.honest(fmt.Sprintf("%d nodes, one at clock %d", n, clock))
			if d := c.deaths(); d != before {
				t.Errorf("%d nodes, one at clock %d: %d deaths were told", n, clock, d-before)
			}
			if victim.Clock() > 1<<20 || victim.Stats().Realigned == 0 {
				t.Errorf("%d nodes: the clock went from %d to %d, %+v", n, clock, victim.Clock(), victim.Stats())
			}
		}
	}
}

// TestDelayedMessages: obsolete messages that arrive together, after a pause or while this node
// was isolated, do not set the clock back. Otherwise their ages would make dead participants
// appear alive (GO-A9).
func TestDelayedMessages(t *testing.T) {
	spec.Covers(t, "GO-A9")
	for _, alone := range []int{0, 30, 300} {
		h := newHarness(t, 8, 0, nil)
		h.meet(20)
		var late [][]byte
		for i := 1; i < 8; i++ {
			late = append(late, append(h.params(h.header()).AppendTo(nil), young(8, i)...))
		}
		h.cycles(alone)
		if alone == 0 {
			h.now += 100 * interval
			h.step(Input{})
		}
		before := h.m.Clock()
		for range 2 {
			for i, data := range late {
				h.step(Input{Kind: Ping, From: h.list.NID(i + 1), Data: data})
			}
			h.cycles(1)
		}
		if h.m.Clock() < before || h.m.Stats().Realigned > 0 {
			t.Errorf("alone for %d cycles: the clock went from %d to %d", alone, before, h.m.Clock())
		}
	}
}

// TestEveryClockAtTheBound: a cluster whose clocks have reached the bound goes on: the clocks
// begin anew (GO-66).
func TestEveryClockAtTheBound(t *testing.T) {
	spec.Covers(t, "GO-66")
	for _, n := range []int{2, 3, 8} {
		c := hostile(t, n, 1000)
		for _, node := range c.nodes {
			node.m.clock.value = maxClock - 30
		}
		c.pass(3 * c.nodes[0].m.Limits().Stealth)
		c.honest(fmt.Sprintf("%d nodes", n))
		if clock := c.nodes[0].m.Clock(); clock > 10_000 {
			t.Errorf("%d nodes: the clock is %d", n, clock)
		}
		c.again(0)
	}
}

// TestComesTogether: parts of a cluster that were separated for long, with clocks far apart,
// come together, whichever part is larger (GO-66).
func TestComesTogether(t *testing.T) {
	spec.Covers(t, "GO-66")
	for _, high := range []int{1, 2, 3, 4, 5, 6, 7} {
		for _, gap := range []uint64{100, 5000, 3 * maxJump} {
			c := hostile(t, 8, 1000)
			for i, node := range c.nodes {
				if i < high {
					node.side = 1
				}
			}
			c.pass(50)
			for _, node := range c.nodes[:high] {
				node.m.clock.value += gap
			}
			c.pass(50)
			for _, node := range c.nodes {
				node.side = 0
			}
			c.pass(4 * c.nodes[0].m.Limits().Dead)
			c.honest(fmt.Sprintf("%d of 8 were ahead by %d", high, gap))
		}
	}
}

// TestStrangersChangeNothing: messages of nodes that are not in the list, however many, change
// only counters, and stop no node, with Strict or without.
func TestStrangersChangeNothing(t *testing.T) {
	for _, strict := range []bool{false, true} {
		h := newHarness(t, 8, 0, func(c *Config) { c.Strict = strict })
		h.cycles(1) // no participant has sent the same parameters as the node
		bad := h.params(h.header())
		bad.Digest[0]++
		other := h.params(h.header())
		other.Interval += time.Second
		staged := h.params(h.header())
		staged.Flags |= wire.FlagStaged
		before, ride := bytes.Clone(h.m.ages.Bytes()), h.m.params.ride
		events := 0
		for i := range 200 {
			from := nid.FromNumber(nid.MakeNet(nid.TCP, 0), 0x0B000001+uint32(i))
			for _, header := range []wire.Header{h.params(h.header()), bad, other, staged, {N: 8, Clock: 1<<64 - 1}} {
				h.step(Input{Kind: Ping, From: from, Data: append(header.AppendTo(nil), young(8, 5)...)})
				events += len(h.out.Events)
				h.step(Input{Kind: Reply, From: from, Data: header.AppendTo(nil)})
				events += len(h.out.Events)
			}
			h.step(Input{Kind: Ping, From: from, Data: []byte("\x09\x00 another version, or what looks like one")})
		}
		if h.m.Stopped() || !bytes.Equal(h.m.ages.Bytes(), before) || h.m.Clock() != 1 || h.m.params.ride != ride || h.m.params.verified {
			t.Errorf("strict %v: stopped %v, clock %d, ages %v", strict, h.m.Stopped(), h.m.Clock(), h.m.ages.Bytes())
		}
		if s := h.m.Stats(); s.Strangers != 200*11 || s.RepliesSent > maxAnswers || events > maxStrangers {
			t.Errorf("strict %v: %d events, %+v", strict, events, s)
		}
		h.cycles(1)
		bad.Clock++
		h.ping(3, bad, young(8, 3)...)
		if !slices.Contains(kinds(h.out.Events), Disagreed) || len(h.sends) != 1 && !strict {
			t.Errorf("strict %v: a participant with other parameters is not told of any more: %v", strict, kinds(h.out.Events))
		}
	}
}

// TestMinority: two peers claim one clock, far behind that of a node that is not in sync. If two other peers
// send other clocks, the node keeps its clock. If three peers claim that clock, they are the majority, and the
// node adopts it.
func TestMinority(t *testing.T) {
	for _, more := range []int{0, 1} {
		h := newHarness(t, 8, 0, nil)
		h.m.clock.value = 1_000_000
		h.m.clock.lost(0)
		for range 2 * h.m.Limits().Resync {
			h.cycles(1)
			// Two or three peers send a clock near 1000, one peer a clock near 100,000, and one peer a clock in step.
			for i := range 4 + more {
				header := h.params(h.header())
				switch i {
				case 0, 1, 4:
					header.Clock = 1000 + 5*h.m.Cycle()
				case 2:
					header.Clock = 100_000 + 5*h.m.Cycle()
				}
				if h.m.Clock() < 10_000 {
					continue
				}
				h.ping(1+i, header, young(8, 1+i)...)
			}
		}
		if back := h.m.Clock() < 10_000; back != (more == 1) {
			t.Errorf("with %d more: the clock is %d", more, h.m.Clock())
		}
	}
}
