package lnetsim

import (
	"fmt"
	"testing"
	"time"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/kit"
)

// maxRails is how many rails a node of a plan has at most.
const maxRails = 3

// plan is a scenario of nodes with rails and nets, drawn from a seed.
type plan struct {
	kit.Plan
	nodes, rails, nets, routers int
	until                       time.Duration  // end of the time in which faults are made
	asleep                      map[int][]span // by node: times at which the node is paused
	// later has functions that add the faults of rails to the scenario. They are called when the pauses of all nodes
	// are known.
	later []func()
	faults
}

// drawPlan draws a plan: nodes with up to three rails, up to three nets with up to three routers between
// them, traffic, and faults of rails, gateways and nodes. All faults end ten seconds after the start. After
// that every operation must end, all credits and MDs must be returned, and every node must reach every other
// one again, see probes.
func drawPlan(seed uint64) string {
	p := &plan{Plan: kit.NewPlan(seed, 26), until: 10 * time.Second, asleep: make(map[int][]span), faults: newFaults()}
	p.nodes, p.rails, p.nets = 4+p.IntN(7), 1+p.IntN(maxRails), 1
	if p.IntN(3) > 0 {
		p.nets = 2 + p.IntN(2)
		p.routers = 1 + p.IntN(3)
		p.nodes = max(p.nodes, p.routers+p.nets+1)
	}
	p.settings()
	onlyProcesses := p.IntN(3) == 0
	for range 3 + p.IntN(8) {
		p.fault(onlyProcesses)
	}
	for _, f := range p.later {
		f()
	}
	p.Line("at 11s do all stop")
	p.Line("expect settled within 20s")
	p.Line("expect credits-returned within 20s")
	p.probes()
	p.Line("expect settled")
	p.Line("expect credits-returned")
	p.Line("always one-send")
	p.Line("always exactly-once")
	p.Line("always protocol-kept")
	return p.String()
}

func (p *plan) settings() {
	p.Line("protocol lnet\nnodes %d\nrun %ds\ncheck every 100ms", p.nodes, firstProbe+2*p.connections()+25)
	p.Line("link latency %s", p.Pick("0.1ms", "1ms±0.5ms", "5ms"))
	p.Line("set rails %d\nset nets %d\nset routers %d", p.rails, p.nets, p.routers)
	p.Line("set rate %s\nset size %s", p.Pick("1", "4", "15"), p.Pick("0", "64", "4096", "65536"))
	p.Line("set operation %s", p.Pick("put", "get", "ping"))
	p.Line("set timeout %s", p.Pick("2s", "5s"))
	p.Line("set check-interval 2s")
	p.Line("set peer-credits %s", p.Pick("1", "8"))
}

// span is a time during which a node does not run.
type span struct{ from, to time.Duration }

// span draws when a fault begins and when it ends.
func (p *plan) span() span {
	from := p.Between(time.Second, p.until-2*time.Second)
	return span{from, p.Between(from+time.Millisecond, p.until)}
}

// fault writes one fault, and the statement that ends it.
func (p *plan) fault(onlyOfProcesses bool) {
	node := 1 + p.IntN(p.nodes)
	if p.routers > 0 && p.IntN(2) == 0 {
		node = 1 + p.IntN(p.routers)
	}
	kind := p.IntN(6)
	if onlyOfProcesses {
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
	}
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
	}
	p.Line("at %v %s %d\nat %v %s %d", s.from, begins, node, s.to, ends, node)
}

// TestRandomPlans runs random plans from many seeds. drawPlan says what must hold in each.
func TestRandomPlans(t *testing.T) {
	spec.Covers(t, "LS-3", "LS-4", "LS-5", "LS-6")
	t.Parallel()
	count := effort.Of(15, 20, 10_000)
	all, err := kit.RunPlans(t.Context(), Protocol, scenario.Stacks, 1, count, drawPlan)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(summary(all))
	if all.First != nil {
		t.Errorf("%d of %d plans failed, with the seeds %v; the first: %v", len(all.Failed), all.Runs, all.Failed, all.First)
	}
}

// summary returns the counts of the plans' operations as text.
func summary(all kit.Plans) string {
	return fmt.Sprintf("%d plans: %.0f operations, %.0f answered, %.0f failed", all.Runs, all.Sum["operations"], all.Sum["answered"], all.Sum["failed"])
}
