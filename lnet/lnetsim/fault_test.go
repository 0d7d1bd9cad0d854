package lnetsim

import "time"

// span is a time during which a node does not run.
type span struct{ from, to time.Duration }

// span draws when a fault begins and when it ends.
func (p *plan) span() span {
	from := p.Between(time.Second, p.until-2*time.Second)
	return span{from, p.Between(from+time.Millisecond, p.until)}
}

// fault writes one fault, and the statement that ends it.
func (p *plan) fault() {
	node := 1 + p.IntN(p.nodes)
	switch {
	case p.sparesRouters:
		node = p.routers + 1 + p.IntN(p.nodes-p.routers)
	case p.routers > 0 && p.IntN(2) == 0:
		node = 1 + p.IntN(p.routers)
	}
	kind := p.IntN(8)
	if p.onlyProcesses {
		kind = 3 + p.IntN(3)
	}
	switch kind {
	case 0, 1:
		p.ofRail(node, "unplug", "plug")
	case 2:
		p.ofRail(node, "sever", "mend")
	case 3:
		p.ofProcess(node, "kill", "restart")
	case 4:
		p.ofProcess(node, "crash", "restart")
	case 5:
		p.ofProcess(node, "pause", "resume")
	case 6:
		p.partition()
	case 7:
		s := p.span()
		p.Line("at %v slow %d %s\nat %v slow %d 0s", s.from, node, p.Pick("100us", "300us"), s.to, node)
	}
}

// partition separates some nodes from the others, once in a plan.
func (p *plan) partition() {
	if p.apart != nil {
		return
	}
	s, first := p.span(), 1+p.IntN(p.nodes-1)
	last := first + p.IntN(p.nodes-first)
	p.apart = make(map[int]bool)
	for node := first; node <= last; node++ {
		p.apart[node] = true
	}
	p.Line("at %v partition %d-%d\nat %v heal", s.from, first, last, s.to)
}

// ofRail writes a fault of a node's rail.
func (p *plan) ofRail(node int, begins, ends string) {
	s, rail := p.span(), 1+p.IntN(p.rails)
	p.cut[node] |= 1 << rail
	p.later = append(p.later, func() { // called after all faults are drawn, when the pauses of the node are known
		p.Line("at %v do %d %s %d", p.awake(node, s.from), node, begins, rail)
		p.Line("at %v do %d %s %d", p.awake(node, s.to), node, ends, rail)
	})
}

// awake returns the first instant, at the given one or later, at which a node runs.
func (p *plan) awake(node int, at time.Duration) time.Duration {
	for _, s := range p.asleep[node] {
		if at >= s.from && at <= s.to {
			return p.awake(node, s.to+time.Millisecond)
		}
	}
	return at
}

// ofProcess adds a fault of a node's process to the scenario, unless the process has another fault at that time.
func (p *plan) ofProcess(node int, begins, ends string) {
	s := p.span()
	if begins == "pause" && p.IntN(2) == 0 {
		s.to = s.from + p.Between(time.Millisecond, harmless)
	}
	for _, other := range p.asleep[node] {
		if s.from <= other.to && s.to >= other.from {
			return
		}
	}
	p.asleep[node] = append(p.asleep[node], s)
	switch begins {
	case "crash":
		p.crashes[node]++
		p.starts[node]++
	case "kill":
		p.starts[node]++
		if p.IntN(3) == 0 {
			p.Line("at %v do %d leave", s.from, node)
			s.from += time.Millisecond / 2
		}
	case "pause":
		p.stood[node] += s.to - s.from
	}
	p.Line("at %v %s %d\nat %v %s %d", s.from, begins, node, s.to, ends, node)
}
