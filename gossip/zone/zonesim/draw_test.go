package zonesim_test

import (
	"fmt"
	"strings"
	"time"

	"ulnet/lnd/sim/scenario/kit"
)

// plan writes a random scenario.
type plan struct {
	kit.Plan // the steps of the scenario
	settings strings.Builder

	supervisors int
	zones, size int
	at          time.Duration
	busy        []time.Duration // by node: time at which its latest fault ends
	slowest     time.Duration   // longest extra time that a step takes
	colors      []string        // by node: the value of its attribute
	owners      []int           // nodes that ever had an attribute, in order
}

func (p *plan) set(format string, args ...any) { fmt.Fprintf(&p.settings, format+"\n", args...) }

// begin draws the nodes: a zone, or up to three zones and a management zone.
func (p *plan) begin(seed uint64, least, most int, network string) {
	p.Plan = kit.NewPlan(seed, 9)
	p.zones, p.size = 1, least+p.IntN(most-least+1)
	if p.IntN(2) == 0 {
		p.supervisors, p.zones = 3+p.IntN(4), 1+p.IntN(3)
		p.size = 3 + p.IntN(8)
	}
	nodes := p.nodes()
	p.busy, p.colors = make([]time.Duration, nodes), make([]string, nodes)
	p.set("set supervisors %d\nset zones %d\nset bootstrap 6\nset check on\ncheck every 100ms", p.supervisors, p.zones) // with fewer bootstrap nodes, parts of a zone may stay apart
	p.set("link latency 1ms±500µs duplicate %d%% reorder %d%%%s", p.IntN(5), p.IntN(10), network)
	if p.supervisors > 0 {
		p.Line("at 5s do %d monitor", p.supervisors+1+p.IntN(p.zones*p.size)) // perhaps a delegate
	}
	p.at = 6 * time.Second
}

func (p *plan) nodes() int { return p.supervisors + p.zones*p.size }

// zone returns the range of nodes that form the zone of a node.
func (p *plan) zone(k int) (first, end int) {
	if k < p.supervisors {
		return 0, p.supervisors
	}
	first = k - (k-p.supervisors)%p.size
	return first, first + p.size
}

// end returns the plan, with a calm time at the end, after which everything must be right.
func (p *plan) end(calm time.Duration) string {
	last := p.at
	for _, until := range p.busy {
		last = max(last, until)
	}
	p.Line("expect views-right\nexpect attributes-equal\nexpect monitors")
	for _, k := range p.owners {
		if color := p.colors[k]; color != "" {
			p.Line("expect attribute %d color %s", k+1, color)
		} else {
			p.Line("expect no-attribute %d color", k+1)
		}
	}
	if p.supervisors > 0 {
		p.Line("expect census-right")
	}
	p.Line("always alternating")
	return fmt.Sprintf("protocol zone\nnodes %d\nrun %v\n", p.nodes(), last+calm) + p.settings.String() + p.String()
}

// paint makes a node write its attribute, or delete it.
func (p *plan) paint(k int, at time.Duration) {
	if p.colors[k] == "" {
		p.owners = append(p.owners, k)
	}
	if p.IntN(4) == 0 {
		p.Line("at %v do %d rm color", at, k+1)
		p.colors[k] = ""
		return
	}
	p.colors[k] = fmt.Sprintf("c%d", p.IntN(1000))
	p.Line("at %v do %d set color %s", at, k+1, p.colors[k])
}

// mildPlan draws a scenario of faults for which no healthy node may be removed with Θ=2
// (G-MS-8). At any time at most a third of each zone has a fault, of any kind; delegates and
// supervisors have faults too. At most one message in two hundred is lost, and nodes write
// attributes all the time. slowest is the longest extra time that a step of a slow node takes.
func mildPlan(seed uint64, slowest time.Duration) string {
	p := plan{slowest: slowest}
	p.begin(seed, 5, 40, fmt.Sprintf(" loss %.1f%%", float64(seed%3)/4))
	for range 4 + p.IntN(12) {
		p.mildFault()
		p.at += p.Between(0, 5*time.Second)
	}
	p.Line("always no-false-removal")
	if p.supervisors > 0 && seed%3 == 0 && p.IntN(2) == 0 { // without loss the supervisor gets the goodbye
		p.depart()
	}
	return p.end(100 * time.Second)
}

// depart makes a whole zone say goodbye at the end, once all of its nodes run again. It must be gone from the census.
func (p *plan) depart() {
	for _, until := range p.busy {
		p.at = max(p.at, until)
	}
	p.at += 15 * time.Second
	first, end := p.zone(p.supervisors + p.IntN(p.zones*p.size))
	p.Line("at %v do %d-%d leave 1", p.at, first+1, end)
}

// mildFault injects a fault into a node without one, if enough others of its zone have none.
func (p *plan) mildFault() {
	k, ill := p.IntN(p.nodes()), 1
	const grace = 10 * time.Second // time after which a node counts as healthy again
	if p.busy[k] > 0 && p.at <= p.busy[k]+grace {
		return
	}
	kind := p.IntN(6)
	switch {
	case kind == 5 && p.IntN(4) == 0:
		p.Line("at %v do %d monitor", p.at, k+1)
		return
	case kind == 5:
		p.paint(k, p.at)
		return
	}
	first, end := p.zone(k)
	for i := first; i < end; i++ {
		if p.busy[i] > 0 && p.at <= p.busy[i]+grace {
			ill++
		}
	}
	if 3*ill > end-first {
		return
	}
	p.busy[k] = p.at + p.Between(time.Millisecond, 20*time.Second)
	switch kind {
	case 0, 1, 2:
		p.colors[k] = ""
		if kind == 2 {
			p.Line("at %v do %d leave %d", p.at-time.Millisecond, k+1, p.IntN(9))
		}
		p.Line("at %v %s %d\nat %v restart %d", p.at, []string{"kill", "crash", "kill"}[kind], k+1, p.busy[k], k+1)
	case 3:
		p.Line("at %v pause %d for %v", p.at, k+1, p.busy[k]-p.at)
	case 4:
		p.Line("at %v slow %d %v\nat %v slow %d 0s", p.at, k+1, p.Between(p.slowest/10, p.slowest), p.busy[k], k+1)
	}
}

// wildPlan draws a scenario with faults of any kind, many at a time. Θ, the number of nodes that must
// suspect a member before it is removed, is 1 to 3; zones have 1 to 4 delegates, and heartbeats of 0.5 to 2 s. Some time after the last fault has ended, all
// nodes must have the right views and the same attributes.
func wildPlan(seed uint64) string {
	var p plan
	p.begin(seed, 2, 24, fmt.Sprintf(" loss %d%%", seed%3*3))
	p.set("set theta %d\nset successors 3\nset delegates %d\nset heartbeat %s", 1+p.IntN(3), 1+p.IntN(4), p.Pick("500ms", "1s", "2s"))
	kinds := []string{"kill", "crash", "pause", "partition", "cut", "loss", "latency", "slow", "duplicate", "reorder", "skew"}
	p.Mix(kinds)
	kinds = kinds[:1+p.IntN(5)]
	for range 1 + p.IntN(3) {
		k := p.IntN(p.nodes())
		p.Line("at %v do %d set before %d", p.Between(time.Second, 6*time.Second), k+1, seed%7)
	}
	p.Line("random faults %d from 6s to 80s of %s", 1+p.IntN(min(3+len(kinds), 8)), strings.Join(kinds, " "))
	p.at = 80 * time.Second
	if seed%3 > 0 {
		p.Line("at 80s link all -> all loss 0%%")
	}
	for range p.IntN(3) {
		p.paint(p.IntN(p.nodes()), 81*time.Second)
	}
	return p.end(200 * time.Second)
}
