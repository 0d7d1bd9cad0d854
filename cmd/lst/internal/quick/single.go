package quick

import (
	"context"
	"slices"
	"time"

	"ulnet/lnet/nid"
	"ulnet/lnet/selftest"
)

// Own tells of a node whose RPCs can be timed one by one: that of the console's process or daemon.
type Own struct {
	NIDs []nid.NID // NIDs of the node
	// Primary returns the primary NID of the node that has a NID, as discovery of this node knows it. For a NID that it does not know it
	// returns the NID itself. Nil: no node is known to have two NIDs.
	Primary func(context.Context, nid.NID) nid.NID
	// Latencies returns a histogram: how long the RPCs took that the node has sent as a client since its start.
	Latencies func(context.Context) ([]selftest.Latency, error)
}

// find returns the pair whose client is this node; nil: there is none.
func (o *Own) find(running []*track) *track {
	if o == nil {
		return nil
	}
	i := slices.IndexFunc(running, func(t *track) bool { return slices.Contains(o.NIDs, t.from.NID) })
	if i < 0 {
		return nil
	}
	return running[i]
}

// time measures the RPCs of the node m.Own in a round, if that node is a client. Call end at the end of the
// round. If the node cannot say how long its RPCs took, its latencies come from intervals, like those of other
// clients.
func (m *measurement) time(ctx context.Context, running []*track) (end func()) {
	t := m.Own.find(running)
	if t == nil {
		return func() {}
	}
	before, err := m.Own.Latencies(ctx)
	return func() {
		after, errAfter := m.Own.Latencies(ctx)
		if err == nil && errAfter == nil {
			t.single = between(before, after)
		}
	}
}

// between returns the RPCs that ended between two calls of Latencies, given the results of both.
func between(before, after []selftest.Latency) (list []selftest.Latency) {
	had := make(map[time.Duration]uint64, len(before))
	for _, b := range before {
		had[b.UpTo] = b.RPCs
	}
	for _, a := range after {
		if a.RPCs > had[a.UpTo] {
			list = append(list, selftest.Latency{UpTo: a.UpTo, RPCs: a.RPCs - had[a.UpTo]})
		}
	}
	return list
}

// singleLatency returns the quantiles of single RPCs, without their mean. The list must not be empty.
func singleLatency(list []selftest.Latency) Latency {
	var all uint64
	for _, b := range list {
		all += b.RPCs
	}
	quantile := func(percent uint64) time.Duration { // nearest rank
		rank := max((all*percent+99)/100, 1)
		for _, b := range list {
			if rank <= b.RPCs {
				return b.UpTo
			}
			rank -= b.RPCs
		}
		return 0 // not reached: no rank is above the number of RPCs
	}
	return Latency{P50: quantile(50), P90: quantile(90), P99: quantile(99), Max: list[len(list)-1].UpTo, Single: true}
}
