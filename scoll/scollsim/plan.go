package scollsim

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// pick draws one of some texts.
func pick(rng *rand.Rand, texts ...string) string { return texts[rng.IntN(len(texts))] }

// FaultPlan draws a scenario: a cluster, what its services do, the faults that
// it meets, and broadcasts by several roots in their midst. It expects that all
// of them end in time, with exact results.
func FaultPlan(seed uint64) string { return draw(seed, false) }

// ServicePlan draws a scenario on a network without faults in which about half of the
// services fail, are late or silent, abort, or break off, at any rank. It expects the
// same.
func ServicePlan(seed uint64) string { return draw(seed, true) }

func draw(seed uint64, onlyServices bool) string {
	rng := rand.New(rand.NewPCG(seed, 7))
	n := 2 + rng.IntN(39)
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("protocol scoll\nnodes %d\nrun 40s\ncheck every 1s\nset history on\nset rtt 4ms\nset guard 2ms", n)
	if loss := pick(rng, "0%", "0%", "1%", "5%"); onlyServices {
		line("link latency 1ms±900µs")
	} else {
		line("link latency 1ms±900µs loss %s duplicate %s reorder %s", loss, pick(rng, "0%", "10%"), pick(rng, "0%", "20%"))
	}
	line("set tree %s\nset k %d", pick(rng, "k-nomial", "k-nomial", "k-ary", "flat"), 1+rng.IntN(5))
	line("set discovery %s", pick(rng, "0s", "20ms", "300ms"))
	line("set propagation 300ms\nset segment %s\nset carry %s", pick(rng, "0", "0", "4096"), pick(rng, "0", "40", "200", "4096", "4096"))
	line("at 1s do 1 create g %s", pick(rng, "delayed", "immediate", "oob"))
	bad := rng.IntN(2 + n/4)
	if onlyServices {
		bad = 1 + n/2
	}
	for range bad {
		line("at %dms do %d service %s", rng.IntN(3000), 1+rng.IntN(n), pick(rng, "mute", "slow 5ms", "slow 30ms", "slow 300ms", "rejects",
			"fails", "stuck", "aborts", "below", "parts", "large"))
	}
	for range rng.IntN(3) {
		line("at %dms do %d abort", 2000+rng.IntN(8000), 1+rng.IntN(n))
	}
	for range 8 {
		root := 1
		if rng.IntN(4) == 0 {
			root += rng.IntN(n)
		}
		line("at %dms do %d broadcast g %s %dms %d", 2000+rng.IntN(8000), root, pick(rng, "all", "all", "live"), rng.IntN(3)*5, rng.IntN(2)*20000)
	}
	kinds := []string{"kill", "crash", "pause", "partition", "cut", "loss", "duplicate", "reorder", "latency", "skew", "slow"}
	rng.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
	if !onlyServices {
		line("random faults %d from 1.5s to 11s of %s", 1+rng.IntN(1+min(n/6, 6)), strings.Join(kinds[:1+rng.IntN(4)], " "))
	}
	b.WriteString("expect over\nexpect exact\nexpect once\nexpect in-time\nexpect intact\nexpect history\n")
	return b.String()
}

// FloodPlan draws a scenario in which several roots broadcast many times at once to
// members that have few places, whose services and networks do as in FaultPlan. It expects
// that all of them end, with exact results, and that no member runs one of which its root
// is told that it was too busy.
func FloodPlan(seed uint64) string {
	rng := rand.New(rand.NewPCG(seed, 11))
	n := 2 + rng.IntN(23)
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("protocol scoll\nnodes %d\nrun 150s\ncheck every 1s\nset history on\nset rtt 4ms\nset guard 2ms", n)
	line("link latency 1ms±900µs duplicate %s reorder %s", pick(rng, "0%", "10%"), pick(rng, "0%", "20%"))
	line("set tree %s\nset k %d\nset places %d", pick(rng, "k-nomial", "k-nomial", "k-ary", "flat"), 1+rng.IntN(5), 1+rng.IntN(6))
	line("set discovery %s", pick(rng, "0s", "300ms"))
	line("set segment %s", pick(rng, "0", "0", "4096"))
	line("at 1s do 1 create g %s", pick(rng, "immediate", "oob"))
	for range rng.IntN(3) {
		line("at %dms do %d service %s", rng.IntN(3000), 1+rng.IntN(n), pick(rng, "slow 5ms", "slow 50ms", "mute", "rejects", "fails"))
	}
	each, root := 1+rng.IntN(40), 1
	for range 1 + rng.IntN(min(n, 8)) {
		for range each {
			line("at %dus do %d broadcast g %s %dms %d", 2_000_000+rng.IntN(50_000), root, pick(rng, "all", "all", "all", "live"), rng.IntN(3)*5, rng.IntN(2)*rng.IntN(2)*20000)
		}
		root++
	}
	if rng.IntN(2) == 0 {
		line("random faults %d from 1.5s to 3s of %s", 1+rng.IntN(2), pick(rng, "kill", "crash", "pause", "cut", "slow"))
	}
	b.WriteString("expect over\nexpect exact\nexpect once\nexpect idle-if-busy\nexpect intact\nexpect history\n")
	return b.String()
}
