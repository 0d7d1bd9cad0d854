package gossipsim_test

import (
	"fmt"
	"math"
	"time"

	"ulnet/lnd/sim/scenario/kit"
)

// plan writes a random scenario.
type plan struct {
	kit.Plan
	nodes int
	at    time.Duration
}

// length draws how long a fault lasts: 0.1 to 30 s, short times as often as long ones.
func (p *plan) length() time.Duration {
	s := 0.1 * math.Pow(300, p.Float64())
	return time.Duration(s * float64(time.Second)).Truncate(time.Millisecond)
}

// some draws nodes with consecutive numbers, as many as count says. It returns the first and
// the last of them.
func (p *plan) some(count int) (first, last int) {
	first = 1 + p.IntN(p.nodes-count+1)
	return first, first + count - 1
}

// draw draws a scenario. Nodes die by the dozen and come back, are paused, or are cut off by
// partitions and one-way cuts of all lengths and sizes, several of these at the same time. At
// most one message in twenty is lost. No healthy node may be declared dead, all deaths are noticed,
// no dead node may be declared alive, and in the end all nodes know all others.
func draw(seed uint64) string {
	p := plan{Plan: kit.NewPlan(seed, 13)}
	p.nodes = 5 + p.IntN(60)
	loss := p.IntN(6)
	p.Line("always no-false-death\nalways no-resurrection\nalways detected-within 45\nexpect views-equal\nexpect alive %d", p.nodes)
	p.at = 8 * time.Second
	for range 2 + p.IntN(4) {
		end := p.sever(p.length())
		if p.IntN(2) == 0 {
			p.at += time.Duration(p.IntN(3000)) * time.Millisecond
		} else {
			p.at = end + time.Duration(p.IntN(12_000))*time.Millisecond
		}
		p.at = max(end, p.die(p.length())) + time.Duration(p.IntN(20_000))*time.Millisecond
	}
	return fmt.Sprintf("protocol gossip\nnodes %d\nrun %v\nlink latency 1ms±500µs loss %d%%\n", p.nodes, p.at+40*time.Second, loss) + p.String()
}

// sever writes faults of links, and returns the time at which they end.
func (p *plan) sever(lasts time.Duration) (end time.Duration) {
	end = p.at + lasts
	a, b := p.some(1 + p.IntN(p.nodes-1))
	switch p.IntN(4) {
	case 0:
		return p.at // in one of four draws no link is cut
	case 1:
		p.Line("at %v partition %d-%d", p.at, a, b)
	case 2:
		third := p.nodes / 3
		p.Line("at %v partition 1-%d | %d-%d | %d-%d", p.at, third, third+1, 2*third, 2*third+1, p.nodes)
	case 3:
		c, d := p.some(1 + p.IntN(p.nodes-1))
		p.Line("at %v cut %d-%d -> %d-%d", p.at, a, b, c, d)
	}
	p.Line("at %v heal", end)
	return end
}

// die kills or pauses some nodes, and returns the time at which they run again.
func (p *plan) die(lasts time.Duration) (end time.Duration) {
	a, b := p.some(1 + p.IntN(p.nodes/2))
	end = p.at + lasts
	if verb := p.Pick("kill", "crash", "pause"); verb == "pause" {
		p.Line("at %v pause %d-%d for %v", p.at, a, b, lasts)
	} else {
		p.Line("at %v %s %d-%d\nat %v restart %d-%d", p.at, verb, a, b, end, a, b)
	}
	return end
}
