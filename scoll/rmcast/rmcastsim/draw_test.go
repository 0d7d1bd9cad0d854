package rmcastsim_test

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"ulnet/lnd/sim/scenario/kit"
)

// plan writes a scenario.
type plan struct {
	kit.Plan
	nodes int
}

// begin draws a group and its network.
func (p *plan) begin(seed, salt uint64, link string) {
	p.Plan = kit.NewPlan(seed, salt)
	p.nodes = 1 + p.IntN(24)
	p.Line("protocol rmcast\nnodes %d\nrun 60s\ncheck every 250ms", p.nodes)
	p.Line("link latency 500µs±400µs%s", link)
	p.Line("set managers %d\nset fifo %s\nset multicast %s", 1+p.IntN(min(3, p.nodes)), p.Pick("on", "off"), p.Pick("on", "on", "on", "off"))
	p.Line("set loss %s\nset discovery %s", p.Pick("0%", "1%", "10%", "40%"), p.Pick("50ms", "200ms", "500ms"))
	p.Line("set window %d\nset fragment %d\nset capacity %s", 4+p.IntN(30), 16+p.IntN(200), p.Pick("0", "4000"))
	if p.nodes > 4 && p.IntN(3) == 0 { // the last two nodes join later
		p.Line("set members 1-%d", p.nodes-2)
		p.Line("at %dms do %d-%d join", 2000+p.IntN(3000), p.nodes-1, p.nodes)
	}
}

// traffic makes some nodes send, in the third to fifth second.
func (p *plan) traffic() {
	for range 5 + p.IntN(20) {
		p.Line("at %dms do %d send %d %d", 2000+p.IntN(3000), 1+p.IntN(min(p.nodes, 4)), 1+p.IntN(5), 4+p.IntN(2)*p.IntN(400))
	}
	for range p.IntN(3) {
		p.Line("at %dms do %d faults %s %s", 1500+p.IntN(2000), 1+p.IntN(p.nodes), p.Pick("0%", "10%", "30%"), p.Pick("0%", "10%", "100%"))
	}
	if p.nodes > 2 && p.IntN(3) == 0 {
		id := 2 + p.IntN(p.nodes-1)
		p.Line("at %dms do %d leave", 2500+p.IntN(2000), id)
		if p.IntN(2) == 0 {
			p.Line("at %dms do %d join", 5000+p.IntN(1000), id)
		}
	}
}

// end adds the expectations to the scenario, and returns its text: when no fault is left, the group is whole, and all can send. In the end all messages are over, nothing is kept, and what the origins were told is right.
func (p *plan) end() string {
	p.Line("at 44s do all faults 0%% 0%%\nat 45s do all send\nexpect over within 5s\nexpect whole within 5s")
	p.Line("expect over\nexpect idle\nexpect proven\nexpect once\nexpect success-right\nexpect failed-right\nexpect lost-right\nalways bounded")
	return p.String()
}

// mildPlan draws a scenario. Nodes die, come back, are paused or slow, but messages between two
// nodes stay in order and are not lost.
func mildPlan(seed uint64) string {
	var p plan
	p.begin(seed, 3, "")
	p.traffic()
	kinds := []string{"kill", "crash", "pause", "slow", "skew"}
	p.Mix(kinds)
	p.Line("random faults %d from 1.5s to 8s of %s", 1+p.IntN(1+min(p.nodes/4, 4)), strings.Join(kinds[:1+p.IntN(3)], " "))
	return p.end()
}

// wildPlan draws a scenario with any faults, many at a time.
func wildPlan(seed uint64) string {
	var p plan
	rng := rand.New(rand.NewPCG(seed, 4))
	p.begin(seed, 5, fmt.Sprintf(" loss %d%% duplicate %d%% reorder %d%%", rng.IntN(3)*rng.IntN(5), rng.IntN(2)*10, rng.IntN(2)*20))
	p.traffic()
	kinds := []string{"kill", "crash", "pause", "partition", "cut", "loss", "duplicate", "reorder", "latency", "slow", "skew"}
	p.Mix(kinds)
	p.Line("random faults %d from 1s to 10s of %s", 1+p.IntN(min(5, 2+p.nodes/3)), strings.Join(kinds[:1+p.IntN(5)], " "))
	return p.end()
}
