package quick

import (
	"slices"
	"time"

	"ulnet/lnet/nid"
	"ulnet/lnet/selftest"
	"ulnet/lnet/selftest/wire"
)

// track collects the counters of a pair's client during a round.
type track struct {
	pair
	from, to nid.ProcessID
	rpcs     uint64
	errors   uint64
	elapsed  time.Duration
	interval []interval
	single   []selftest.Latency // histogram of the times of the round's RPCs, if the client is the node of the console, see Own
}

// interval is the time between two samples.
type interval struct {
	length time.Duration
	rpcs   uint32
}

// add adds the interval between two samples. Counters may wrap; their differences are correct all
// the same. It adds nothing if the node did not answer, or began another session in between.
func (t *track) add(before, after *wire.StatReply) {
	if before == nil || after == nil || after.Framework.Running <= before.Framework.Running {
		return
	}
	i := interval{
		length: time.Duration(after.Framework.Running-before.Framework.Running) * time.Millisecond,
		rpcs:   after.RPC.Sent - before.RPC.Sent,
	}
	t.elapsed += i.length
	t.rpcs += uint64(i.rpcs)
	f, g := &before.Framework, &after.Framework
	t.errors += uint64(g.BRWErrors-f.BRWErrors) + uint64(g.PingErrors-f.PingErrors)
	t.interval = append(t.interval, i)
}

// failed returns the pair with the reason why it has no result.
func (t *track) failed(why string) Pair {
	return Pair{From: t.from.NID.String(), To: t.to.NID.String(), Failed: why, pair: t.pair}
}

// result returns the result of the pair.
func (t *track) result(cfg *Config) Pair {
	switch {
	case t.elapsed == 0:
		return t.failed("the round ended before two samples were taken")
	case !t.ends():
		return t.failed("no RPC has ended: see whether messages of this size come from one node to the other (lnetctl ping, MTU)")
	}
	p := Pair{From: t.from.NID.String(), To: t.to.NID.String(), RPCs: t.rpcs, Errors: t.errors, pair: t.pair}
	p.Rate = float64(t.rpcs) / t.elapsed.Seconds()
	if cfg.Service == wire.BRWService {
		p.Bandwidth = p.Rate * float64(cfg.BRW.Length)
	}
	if p.Latency = latencyOf(t.interval, cfg.Concurrency); len(t.single) > 0 {
		p.Latency = singleLatency(t.single)
	}
	p.Latency.Mean = perRPC(interval{t.elapsed, uint32(min(t.rpcs, 1<<32-1))}, cfg.Concurrency)
	return p
}

// ends reports whether any RPC has ended. The counters count sent RPCs: if no RPC ends, only as many
// as may be under way are sent, all of them in the first interval. So only RPCs of later intervals count.
func (t *track) ends() bool {
	return slices.ContainsFunc(t.interval[min(1, len(t.interval)-1):], func(i interval) bool { return i.rpcs > 0 })
}

// perRPC returns the mean time that an RPC takes. If no RPC was sent in the interval, it calculates
// as if there had been one.
func perRPC(i interval, concurrency int) time.Duration {
	return i.length * time.Duration(concurrency) / time.Duration(max(i.rpcs, 1))
}

// latencyOf returns the quantiles of intervals, without their mean.
func latencyOf(list []interval, concurrency int) (l Latency) {
	means := make([]time.Duration, len(list))
	for i := range list {
		means[i] = perRPC(list[i], concurrency)
	}
	slices.Sort(means)
	quantile := func(percent int) time.Duration { // nearest rank
		return means[max((len(means)*percent+99)/100-1, 0)]
	}
	return Latency{P50: quantile(50), P90: quantile(90), P99: quantile(99), Max: means[len(means)-1]}
}
