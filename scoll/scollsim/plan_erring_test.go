package scollsim

import (
	"fmt"
	"time"

	"ulnet/lnd/sim/scenario/kit"
)

// ErringPlan draws a random scenario in which discovery errs. Neighbours stand still, are cut off or restart, several
// at once, for as long that discovery notices, or almost. Broadcasts go out while nodes learn of that, each at a time
// of its own, and while they learn of the end. The expectations are those of FaultPlan.
func ErringPlan(seed uint64) string {
	p := kit.NewPlan(seed, 13)
	n := 2 + p.IntN(23)
	p.Line("protocol scoll\nnodes %d\nrun 40s\ncheck every 1s\nset history on\nset rtt 4ms\nset guard 2ms", n)
	p.Line("link latency 1ms±900µs\nset tree %s\nset k %d", p.Pick("k-nomial", "k-ary", "flat"), 1+p.IntN(4))
	p.Line("set discovery 300ms\nset discovery-errs on\nset propagation %s", p.Pick("100ms", "300ms"))
	p.Line("at 1s do 1 create g %s", p.Pick("delayed", "immediate", "oob"))
	for at := 2 * time.Second; at < 14*time.Second; at += 4 * time.Second {
		episode(&p, n, at)
	}
	p.WriteString("expect over\nexpect idle\nexpect exact\nexpect missing-right\nexpect once\nexpect in-time\nexpect intact\nexpect history\n")
	return p.String()
}

// episode draws one fault of some neighbours from the instant at on, and broadcasts around its beginning and its end.
func episode(p *kit.Plan, n int, at time.Duration) {
	first := 1 + p.IntN(n)
	some, lasts := fmt.Sprintf("%d-%d", first, min(n, first+p.IntN(3))), p.Between(100*time.Millisecond, 2500*time.Millisecond)
	switch p.IntN(6) {
	case 0:
		p.Line("at %v pause %s for %v", at, some, lasts)
	case 1:
		p.Line("at %v partition %s\nat %v heal", at, some, at+lasts)
	case 2:
		p.Line("at %v cut %s -> all\nat %v heal", at, some, at+lasts)
	case 3:
		p.Line("at %v cut all -> %s\nat %v heal", at, some, at+lasts)
	default:
		p.Line("at %v %s %s\nat %v restart %s", at, p.Pick("kill", "crash"), some, at+lasts, some)
	}
	for range 6 {
		when := at + p.Between(0, 400*time.Millisecond) // discovery tells of a death within 300 ms
		if p.IntN(2) == 0 {
			when += lasts
		}
		p.Line("at %v do any 1 of 1-%d broadcast g %s %dms %d", when, 1+p.IntN(min(n, 3)), p.Pick("all", "live", "live"), p.IntN(3)*50, p.IntN(2)*20000)
	}
}
