package rmcastsim_test

import (
	"fmt"
	"strings"
	"time"

	"ulnet/lnd/sim/scenario/kit"
)

// partitionPlan draws partitions of the managers and members of a group.
type partitionPlan struct {
	plan

	managers int
	gossip   bool // managers hear of deaths as gossip reports them
	down     map[int]bool
}

// drawPartitions draws a scenario in which managers and members are partitioned in every way:
// single nodes, two or three sides, one direction only, single pairs, each for a shorter or
// longer time than any timeout. Partitions follow one another while messages are sent and
// managers restart. In the end the network is whole, and then the group must be whole too.
func drawPartitions(seed uint64) string { return (&partitionPlan{}).draw(seed) }

// drawPartitionsWithGossip draws such a scenario with gossip.
func drawPartitionsWithGossip(seed uint64) string { return (&partitionPlan{gossip: true}).draw(seed) }

func (p *partitionPlan) draw(seed uint64) string {
	p.down = map[int]bool{}
	p.Plan = kit.NewPlan(seed, 7)
	p.nodes = 2 + p.IntN(9)
	p.managers = 1 + p.IntN(min(4, p.nodes))
	p.Line("protocol rmcast\nnodes %d\nrun 200s\ncheck every 500ms", p.nodes)
	p.Line("link latency 500µs±400µs")
	p.Line("set managers %d\nset fifo %s\nset multicast %s", p.managers, p.Pick("on", "off"), p.Pick("on", "on", "off"))
	if p.gossip {
		p.Line("set gossip on\nset discovery %s", p.Pick("300ms", "2s"))
	} else {
		p.Line("set discovery %s", p.Pick("0s", "0s", "300ms"))
	}
	p.Line("set member-timeout %s", p.Pick("5s", "30s"))
	p.Line("set window %d\nset fragment 100", 4+p.IntN(30))
	at := 3 * time.Second
	for range 1 + p.IntN(5) {
		at = p.episode(at)
	}
	p.restartAll(at)
	p.Line("expect over within 60s\nexpect whole within 30s")
	p.Line("at %v do %d send 3\nexpect over within 10s\nexpect idle within 10s", 180*time.Second, 1+p.IntN(p.nodes))
	p.Line("expect proven\nexpect once\nexpect success-right\nexpect failed-right\nexpect lost-right\nalways bounded")
	return p.String()
}

// episode draws a partition, events during it, and its end, and returns when it is over.
func (p *partitionPlan) episode(at time.Duration) time.Duration {
	at += time.Duration(p.IntN(4000)) * time.Millisecond
	length := []time.Duration{time.Second, 4 * time.Second, 9 * time.Second, 18 * time.Second}[p.IntN(4)]
	victim := 0
	if p.IntN(3) == 0 {
		victim = p.restart(at, length)
	}
	p.traffic(at, length, victim)
	p.Line("at %v %s", at, p.shape())
	if p.IntN(4) == 0 { // change to another shape before the first one is healed
		at += length
		p.Line("at %v heal\nat %v %s", at, at+time.Millisecond, p.shape())
	}
	at += length
	p.Line("at %v heal", at)
	return at
}

// traffic makes nodes of all sides send. The node victim, which dies during the episode, sends only
// before its death.
func (p *partitionPlan) traffic(from, length time.Duration, victim int) {
	for range 3 + p.IntN(8) {
		node, span := 1+p.IntN(p.nodes), length
		if node == victim {
			span = length / 3
		} else if p.down[node] {
			continue
		}
		at := from + time.Duration(p.Int64N(int64(span/time.Millisecond)))*time.Millisecond
		p.Line("at %v do %d send %d %d", at, node, 1+p.IntN(4), 4+p.IntN(2)*p.IntN(300))
	}
}

// shape draws a partition or cuts.
func (p *partitionPlan) shape() string {
	switch p.IntN(5) {
	case 0: // cut off one manager alone
		return p.sides(2, func(node int) int { return boolInt(node == 1+p.IntN(p.managers)) })
	case 1: // managers on one side, and members on the other
		return p.sides(2, func(node int) int { return boolInt(node <= p.managers) })
	case 2:
		return p.sides(3, func(int) int { return p.IntN(3) })
	case 3: // cut one direction: from one node to another one, or from one node to all
		a, b := 1+p.IntN(p.nodes), 1+p.IntN(p.nodes)
		if a != b {
			return fmt.Sprintf("cut %d -> %d", a, b)
		}
		return fmt.Sprintf("cut %d -> all", a)
	}
	return p.sides(2, func(int) int { return p.IntN(2) })
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// sides writes a partition. If one side would be empty, it cuts the first manager off instead.
func (p *partitionPlan) sides(count int, of func(node int) int) string {
	lists := make([][]string, count)
	for node := 1; node <= p.nodes; node++ {
		side := of(node)
		lists[side] = append(lists[side], fmt.Sprint(node))
	}
	var texts []string
	for _, l := range lists {
		if len(l) > 0 {
			texts = append(texts, strings.Join(l, ","))
		}
	}
	if len(texts) < 2 {
		return "cut 1 -> all"
	}
	return "partition " + strings.Join(texts, " | ")
}

// restart makes a node die in the middle of an episode and come back, perhaps only at its end.
// It returns the node, or 0.
func (p *partitionPlan) restart(at, length time.Duration) int {
	node := 1 + p.IntN(p.nodes)
	if p.IntN(2) == 0 {
		node = 1 + p.IntN(p.managers)
	}
	if p.down[node] {
		return 0
	}
	p.Line("at %v %s %d", at+length/3, p.Pick("kill", "crash"), node)
	if p.IntN(2) == 0 {
		p.Line("at %v restart %d", at+length*2/3, node)
		return node
	}
	p.down[node] = true
	return node
}

// restartAll starts all nodes that are down.
func (p *partitionPlan) restartAll(at time.Duration) {
	for node := 1; node <= p.nodes; node++ {
		if p.down[node] {
			p.Line("at %v restart %d", at, node)
		}
	}
}
