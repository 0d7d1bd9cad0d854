package scollsim

import "ulnet/lnd/sim/scenario/kit"

// FloodPlan draws a random scenario. Several roots broadcast many times at the same time to
// members that have few slots, with services and networks as in FaultPlan. All broadcasts must
// end with exact results, and a member that the root reports as busy must not have run the broadcast.
func FloodPlan(seed uint64) string {
	p := kit.NewPlan(seed, 11)
	n := 2 + p.IntN(23)
	p.Line("protocol scoll\nnodes %d\nrun 150s\ncheck every 1s\nset history on\nset rtt 4ms\nset guard 2ms", n)
	p.Line("link latency 1ms±900µs duplicate %s reorder %s", p.Pick("0%", "10%"), p.Pick("0%", "20%"))
	p.Line("set tree %s\nset k %d\nset places %d", p.Pick("k-nomial", "k-nomial", "k-ary", "flat"), 1+p.IntN(5), 1+p.IntN(6))
	p.Line("set discovery %s", p.Pick("0s", "300ms"))
	p.Line("set segment %s", p.Pick("0", "0", "4096"))
	p.Line("at 1s do 1 create g %s", p.Pick("immediate", "oob"))
	for range p.IntN(3) {
		p.Line("at %dms do %d service %s", p.IntN(3000), 1+p.IntN(n), p.Pick("slow 5ms", "slow 50ms", "mute", "rejects", "fails"))
	}
	each, root := 1+p.IntN(40), 1
	for range 1 + p.IntN(min(n, 8)) {
		for range each {
			p.Line("at %dus do %d broadcast g %s %dms %d", 2_000_000+p.IntN(50_000), root, p.Pick("all", "all", "all", "live"), p.IntN(3)*5, p.IntN(2)*p.IntN(2)*20000)
		}
		root++
	}
	if p.IntN(2) == 0 {
		p.Line("random faults %d from 1.5s to 3s of %s", 1+p.IntN(2), p.Pick("kill", "crash", "pause", "cut", "slow"))
	}
	p.WriteString("expect over\nexpect idle\nexpect exact\nexpect missing-right\nexpect once\nexpect in-time\nexpect idle-if-busy\nexpect intact\nexpect history\n")
	return p.String()
}
