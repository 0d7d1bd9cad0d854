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
	peerCredits                 string         // option peer-credits
	onlyProcesses               bool           // no fault is one of rails or of the network
	sparesRouters               bool           // no fault is one of routers
	until                       time.Duration  // end of the time in which faults are made
	first                       int            // second of the run at which the first probes are sent
	asleep                      map[int][]span // by node: times at which the node is paused
	// later has functions that add the faults of rails to the scenario. They are called when the pauses of all nodes
	// are known.
	later []func()
	faults
}

// drawPlan draws a plan: nodes with up to three rails, up to three nets with up to three routers between
// them, traffic, and faults of rails, gateways, nodes and the network. All faults end ten seconds after the start, in some
// plans forty. No operation may fail between nodes that are not hit, see spared. After the faults
// every operation must end, all credits and MDs must be returned, and every node must reach every other
// one again, see probes.
func drawPlan(seed uint64) string {
	p := &plan{Plan: kit.NewPlan(seed, 26), asleep: make(map[int][]span), faults: newFaults()}
	p.nodes, p.rails, p.nets = 4+p.IntN(7), 1+p.IntN(maxRails), 1
	if p.IntN(3) > 0 {
		p.nets = 2 + p.IntN(2)
		p.routers = 1 + p.IntN(3)
		p.nodes = max(p.nodes, p.routers+p.nets+1)
	}
	p.onlyProcesses = p.IntN(3) == 0
	p.sparesRouters = p.routers > 0 && p.IntN(3) == 0
	p.settings()
	for range 3 + p.IntN(8) {
		p.fault()
	}
	for _, f := range p.later {
		f()
	}
	p.Line("at %v do all stop", p.until+time.Second)
	p.Line("expect settled within 20s")
	p.Line("expect credits-returned within 20s")
	p.probes()
	p.Line("expect settled")
	p.Line("expect credits-returned")
	p.spared()
	p.Line("always one-send")
	p.Line("always exactly-once")
	p.Line("always protocol-kept")
	return p.String()
}

func (p *plan) settings() {
	p.until = 10 * time.Second
	rate := p.Pick("1", "4", "15")
	if p.IntN(8) == 0 {
		p.until, rate = 4*p.until, "1"
	}
	p.first = int(p.until/time.Second) + calm
	check := "100ms"
	if p.IntN(16) == 0 {
		p.first += idle
		check = "2s"
	}
	p.Line("protocol lnet\nnodes %d\nrun %ds\ncheck every %s", p.nodes, p.first+2*p.connections()+25, check)
	p.Line("link latency %s", p.Pick("0.1ms", "1ms±0.5ms", "5ms"))
	p.Line("set rails %d\nset nets %d\nset routers %d", p.rails, p.nets, p.routers)
	p.Line("set rate %s\nset size %s", rate, p.Pick("0", "64", "4096", "65536"))
	p.Line("set operation %s", p.Pick("put", "get", "ping"))
	p.Line("set timeout %s", p.Pick("2s", "5s"))
	p.Line("set check-interval %s", p.Pick("1s", "2s", "5s"))
	p.peerCredits = p.Pick("1", "8")
	p.Line("set peer-credits %s\nset credits %s", p.peerCredits, p.Pick("8", "256"))
	p.Line("set window %s", p.Pick("65536", "2097152"))
	if p.IntN(4) == 0 && (p.rails == 1 || p.routers == 0) { // without discovery the other NIDs of a gateway are not known
		p.Line("set discovery off")
	}
}

// TestRandomPlans runs random plans from many seeds. drawPlan says what must hold in each.
func TestRandomPlans(t *testing.T) {
	spec.Covers(t, "LS-3", "LS-4", "LS-5", "LS-6", "LS-8")
	t.Parallel()
	count := effort.Seeds(15, 20, 10_000)
	all, err := kit.RunPlans(t.Context(), Protocol, scenario.Stacks, 1, count, drawPlan)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(summary(all))
	if all.First != nil {
		t.Errorf("%d of %d plans failed, with the seeds %v; the first: %v", len(all.Failed), all.Runs, all.Failed, all.First)
	}
}

// TestLateLoss: in this plan two nodes do not use one of their connections, which only one of them has given up, before the
// last rounds of probes. The probe that is lost on it is one of those that the oracle allows.
func TestLateLoss(t *testing.T) {
	t.Parallel()
	if all, err := kit.RunPlans(t.Context(), Protocol, scenario.Stacks, 338, 1, drawPlan); err != nil || all.First != nil {
		t.Errorf("%v; the plan: %v", err, all.First)
	}
}

// summary returns the counts of the plans' operations as text.
func summary(all kit.Plans) string {
	return fmt.Sprintf("%d plans: %.0f operations, %.0f answered, %.0f failed", all.Runs, all.Sum["operations"], all.Sum["answered"], all.Sum["failed"])
}
