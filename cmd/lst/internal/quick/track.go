package quick

import (
	"fmt"
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
	units    int             // number of units of the test, each of which ends at its first RPC that fails
	last     *wire.StatReply // latest counters of the client; nil: there are none yet
	rpcs     uint64          // number of RPCs that the client has sent, since before the units were started
	errors   uint64          // number of these RPCs that failed
	interval []interval
	single   []selftest.Latency // histogram of the times of the round's RPCs, if the client is the node of the console, see Own
}

// interval is the time between two samples.
type interval struct {
	length time.Duration
	rpcs   uint32
	errors uint64 // number of RPCs that failed
	units  int    // number of units that ran at its beginning
}

// count takes a sample of the client's counters, and returns by how much they have grown since the previous sample. They may
// wrap; their differences are correct all the same. The growth is zero if there is no previous sample, or if the node
// did not answer, or began another session in between.
func (t *track) count(next *wire.StatReply) (i interval) {
	before := t.last
	if next == nil {
		return interval{}
	}
	if t.last = next; before == nil || next.Framework.Running < before.Framework.Running {
		return interval{}
	}
	f, g := &before.Framework, &next.Framework
	i = interval{
		length: time.Duration(g.Running-f.Running) * time.Millisecond,
		rpcs:   next.RPC.Sent - before.RPC.Sent,
		errors: uint64(g.BRWErrors-f.BRWErrors) + uint64(g.PingErrors-f.PingErrors),
		units:  max(t.units-int(t.errors), 0),
	}
	t.rpcs += uint64(i.rpcs)
	t.errors += i.errors
	return i
}

// add takes a sample, and keeps the interval since the previous one for the rate and the latency.
func (t *track) add(next *wire.StatReply) {
	if i := t.count(next); i.length > 0 {
		t.interval = append(t.interval, i)
	}
}

// fullest returns the intervals of which the rate and the latency are calculated: those without errors in which
// the most units ran. If each interval has errors, it returns all in which units ran.
func (t *track) fullest() (list []interval) {
	most := 0
	for _, i := range t.interval {
		if i.errors == 0 {
			most = max(most, i.units)
		}
	}
	for _, i := range t.interval {
		if most == 0 && i.units > 0 || most > 0 && i.units == most && i.errors == 0 {
			list = append(list, i)
		}
	}
	return list
}

// failed returns the pair with the reason why it has no rate.
func (t *track) failed(why string) Pair {
	return Pair{From: t.from.NID.String(), To: t.to.NID.String(), Failed: why, RPCs: t.rpcs, Errors: t.errors, pair: t.pair}
}

// lost returns the pair with the reason why one of its nodes was lost, and with the errors that were counted before.
func (t *track) lost(why string) Pair {
	if t.errors > 0 {
		why = fmt.Sprintf("%s; before that, %d of %d RPCs failed", why, t.errors, t.rpcs)
	}
	return t.failed(why)
}

// unmeasured says why a pair whose nodes have answered has no rate, or "". The parameter sum has the RPCs of the
// intervals of which the rate would be calculated.
func (t *track) unmeasured(sum *interval) string {
	switch {
	case t.errors > 0 && sum.rpcs > 0:
		return ""
	case t.errors > 0 && t.errors == t.rpcs:
		return fmt.Sprintf("all %d RPCs failed", t.rpcs)
	case t.errors > 0:
		return fmt.Sprintf("%d of %d RPCs failed, and there was no time for a rate", t.errors, t.rpcs)
	case len(t.interval) == 0:
		return "the round ended before two samples were taken"
	case t.ends():
		return ""
	case t.rpcs > uint64(t.units):
		return fmt.Sprintf("no RPC has ended after the first %v: see whether the nodes still reach each other (lnetctl ping)", t.interval[0].length)
	}
	return "no RPC has ended: see whether messages of this size come from one node to the other (lnetctl ping, MTU)"
}

// result returns the result of the pair.
func (t *track) result(cfg *Config) Pair {
	list := t.fullest()
	var sum interval
	var busy time.Duration // time of all units together
	for _, i := range list {
		sum.length += i.length
		sum.rpcs += i.rpcs
		busy += i.length * time.Duration(i.units)
	}
	if why := t.unmeasured(&sum); why != "" {
		return t.failed(why)
	}
	p := Pair{From: t.from.NID.String(), To: t.to.NID.String(), RPCs: t.rpcs, Errors: t.errors, pair: t.pair}
	p.Rate = float64(sum.rpcs) / sum.length.Seconds()
	if cfg.Service == wire.BRWService {
		p.Bandwidth = p.Rate * float64(cfg.BRW.Length)
	}
	if p.Latency = latencyOf(list); len(t.single) > 0 {
		p.Latency = singleLatency(t.single)
	}
	p.Latency.Mean = busy / time.Duration(max(sum.rpcs, 1))
	return p
}

// ends reports whether any RPC has ended. The counters count sent RPCs: if no RPC ends, only as many
// as may be under way are sent, all of them in the first interval. So only RPCs of later intervals count.
func (t *track) ends() bool {
	return slices.ContainsFunc(t.interval[min(1, len(t.interval)-1):], func(i interval) bool { return i.rpcs > 0 })
}

// perRPC returns the mean time that an RPC takes in an interval. If no RPC was sent in it, perRPC calculates
// as if there had been one.
func (i *interval) perRPC() time.Duration {
	return i.length * time.Duration(i.units) / time.Duration(max(i.rpcs, 1))
}

// latencyOf returns the quantiles of intervals, without their mean.
func latencyOf(list []interval) (l Latency) {
	means := make([]time.Duration, len(list))
	for i := range list {
		means[i] = list[i].perRPC()
	}
	slices.Sort(means)
	quantile := func(percent int) time.Duration { // nearest rank
		return means[max((len(means)*percent+99)/100-1, 0)]
	}
	return Latency{P50: quantile(50), P90: quantile(90), P99: quantile(99), Max: means[len(means)-1]}
}
