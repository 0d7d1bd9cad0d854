package gossipsim_test

import (
	"fmt"
	"math"
	"time"

	"ulnet/gossip/engine"
	"ulnet/gossip/gossipsim"
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

// some draws nodes with consecutive numbers in a range, as many as count says. It returns the first and
// the last of them.
func (p *plan) some(low, high, count int) (first, last int) {
	first = low + p.IntN(high-low+2-count)
	return first, first + count - 1
}

// size draws how many nodes there are: in one of four draws a few, as storage servers have, and 5 to 64 otherwise.
func (p *plan) size() int {
	if p.IntN(4) == 0 {
		return 2 + p.IntN(3)
	}
	return 5 + p.IntN(60)
}

// draw draws a scenario. Nodes die by the dozen and come back, are paused, or are cut off by
// partitions and one-way cuts of all lengths and sizes, several of these at the same time: in particular, some nodes
// die while others are paused. At most one message in twenty is lost; in some plans as many are duplicated, and overtaken
// by others. No healthy node may be declared dead, all deaths are noticed, no dead node may be declared alive, and in
// the end all nodes know all others and have a quorum.
func draw(seed uint64) string {
	p := plan{Plan: kit.NewPlan(seed, 13)}
	p.nodes = p.size()
	link := fmt.Sprintf("latency 1ms±500µs loss %d%%", p.IntN(6))
	if p.IntN(3) == 0 {
		link += fmt.Sprintf(" duplicate %d%% reorder %d%% hold %dms", p.IntN(6), p.IntN(6), 1+p.IntN(100))
	}
	p.Line("always no-false-death\nalways no-resurrection\nalways detected-within %d\nexpect views-equal\nexpect quorum\nexpect alive %d", p.detection(), p.nodes)
	p.at = 8 * time.Second
	for range 2 + p.IntN(4) {
		end := p.sever(p.length())
		if p.IntN(2) == 0 {
			p.at += time.Duration(p.IntN(3000)) * time.Millisecond
		} else {
			p.at = end + time.Duration(p.IntN(12_000))*time.Millisecond
		}
		p.at = max(end, p.fail()) + time.Duration(p.IntN(20_000))*time.Millisecond
	}
	return fmt.Sprintf("protocol gossip\nnodes %d\nrun %v\nlink %s\n", p.nodes, p.at+40*time.Second, link) + p.String()
}

// detection returns the number of cycles within which a death is noticed (docs/gossip-tuning.md, "Rules of thumb"): an
// age is above the limit D after D + 1 cycles.
func (p *plan) detection() int {
	limits, err := engine.Config{Interval: gossipsim.Interval}.Limits(p.nodes)
	if err != nil {
		panic(err)
	}
	return limits.Dead + 1
}

// sever writes faults of links, and returns the time at which they end.
func (p *plan) sever(lasts time.Duration) (end time.Duration) {
	end = p.at + lasts
	a, b := p.some(1, p.nodes, 1+p.IntN(p.nodes-1))
	switch kind := p.IntN(4); {
	case kind == 0:
		return p.at // in one of four draws no link is cut
	case kind == 1:
		c, d := p.some(1, p.nodes, 1+p.IntN(p.nodes-1))
		p.Line("at %v cut %d-%d -> %d-%d", p.at, a, b, c, d)
	case kind == 2 && p.nodes > 2:
		third := p.nodes / 3
		p.Line("at %v partition 1-%d | %d-%d | %d-%d", p.at, third, third+1, 2*third, 2*third+1, p.nodes)
	default:
		p.Line("at %v partition %d-%d", p.at, a, b)
	}
	p.Line("at %v heal", end)
	return end
}

// fail kills or pauses some nodes, and in two of three draws some others too, before or after the first are back. It
// returns the time at which all run again.
func (p *plan) fail() (end time.Duration) {
	if p.IntN(3) == 0 {
		return p.die(p.at, 1, p.nodes)
	}
	middle := 1 + p.IntN(p.nodes-1)
	end = p.die(p.at, 1, middle)
	return max(end, p.die(p.at+p.length()/4, middle+1, p.nodes))
}

// die kills or pauses some nodes of a range, up to half of all, and returns the time at which they run again.
func (p *plan) die(at time.Duration, low, high int) (end time.Duration) {
	a, b := p.some(low, high, 1+p.IntN(min(high-low+1, p.nodes/2)))
	lasts := p.length()
	end = at + lasts
	if verb := p.Pick("kill", "crash", "pause"); verb == "pause" {
		p.Line("at %v pause %d-%d for %v", at, a, b, lasts)
	} else {
		p.Line("at %v %s %d-%d\nat %v restart %d-%d", at, verb, a, b, end, a, b)
	}
	return end
}
