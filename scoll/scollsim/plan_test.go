package scollsim

import (
	"fmt"
	"strings"

	"ulnet/lnd/sim/scenario/kit"
)

// FaultPlan draws a random scenario: a cluster, the behavior of its services, faults, and broadcasts by
// several roots during the faults. It expects that each broadcast ends within its time limit, with an exact
// result.
func FaultPlan(seed uint64) string { return draw(seed, false) }

// ServicePlan draws a random scenario on a network without faults. At any rank about half of
// the services fail, are late or silent, abort, or stop in the middle of an answer. The
// expectations are those of FaultPlan.
func ServicePlan(seed uint64) string { return draw(seed, true) }

func draw(seed uint64, onlyServices bool) string {
	p := kit.NewPlan(seed, 7)
	n := 2 + p.IntN(39)
	p.Line("protocol scoll\nnodes %d\nrun 40s\ncheck every 1s\nset history on\nset rtt 4ms\nset guard 2ms", n)
	if loss := p.Pick("0%", "0%", "1%", "5%"); onlyServices {
		p.Line("link latency 1ms±900µs")
	} else {
		p.Line("link latency 1ms±900µs loss %s duplicate %s reorder %s", loss, p.Pick("0%", "10%"), p.Pick("0%", "20%"))
	}
	p.Line("set tree %s\nset k %d", p.Pick("k-nomial", "k-nomial", "k-ary", "flat"), 1+p.IntN(5))
	p.Line("set discovery %s", p.Pick("0s", "20ms", "300ms"))
	p.Line("set discovery-errs %s", p.Pick("off", "on"))
	p.Line("set propagation 300ms\nset segment %s\nset carry %s", p.Pick("0", "0", "4096"), p.Pick("0", "40", "200", "4096", "4096"))
	kind, modes := p.Pick("delayed", "immediate", "oob"), []string{"all", "all", "live"}
	if kind == "oob" {
		modes = append(modes, "last", "live-last") // a regular group cannot be used afterwards
	}
	p.Line("at 1s do 1 create g %s", kind)
	bad := p.IntN(2 + n/4)
	if onlyServices {
		bad = 1 + n/2
	}
	for range bad {
		p.Line("at %dms do %d service %s", p.IntN(3000), 1+p.IntN(n), p.Pick("mute", "slow 5ms", "slow 30ms", "slow 300ms", "rejects",
			"fails", "stuck", "aborts", "below", "parts", "large"))
	}
	for range p.IntN(3) {
		p.Line("at %dms do %d abort", 2000+p.IntN(8000), 1+p.IntN(n))
	}
	for range 8 {
		root := 1
		if p.IntN(4) == 0 {
			root += p.IntN(n)
		}
		p.Line("at %dms do %d broadcast g %s %dms %d", 2000+p.IntN(8000), root, p.Pick(modes...), p.IntN(3)*5, p.IntN(2)*20000)
	}
	if kind == "oob" {
		for range p.IntN(2) * (1 + p.IntN(2)) {
			first := 1 + p.IntN(n)
			p.Line("at %dms do 1 list g %s", 2000+p.IntN(8000), p.Pick("all", fmt.Sprintf("%d-%d", first, first+p.IntN(n-first+1))))
		}
	} else if p.IntN(3) == 0 {
		p.Line("at %dms do 1 destroy g", 5000+p.IntN(5000))
	}
	kinds := []string{"kill", "crash", "pause", "partition", "cut", "loss", "duplicate", "reorder", "latency", "skew", "slow", "stall"}
	p.Mix(kinds)
	if !onlyServices {
		p.Line("random faults %d from 1.5s to 11s of %s", 1+p.IntN(1+min(n/6, 6)), strings.Join(kinds[:1+p.IntN(4)], " "))
	}
	p.WriteString("expect over\nexpect idle\nexpect exact\nexpect missing-right\nexpect once\nexpect in-time\nexpect intact\nexpect history\n")
	return p.String()
}
