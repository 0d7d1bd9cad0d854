package main

import (
	"cmp"
	"fmt"
	"slices"
)

// goal is a goal of docs/spec and the function that measures it.
type goal struct {
	id, title string
	measure   func(*measurement)
}

var goals = []goal{
	{"G-FLOOR", "the bare loop: the least that Go has to do for LNet's messages, beside plain TCP", measureFloor},
	{"G-LN-1", "8 B PUT, half round trip between two processes", measureLatency},
	{"G-LN-2", "64 B to 1 MiB PUT, half round trip between two processes", measureLargeLatency},
	{"G-LN-3", "1 MiB PUT and GET, streaming between two processes", measureStreaming},
	{"G-LN-4", "8 B PUTs one way, many in flight, peer_credits 256", measureRate},
	{"G-LN-5", "allocations of both processes in the steady state", measureAllocations},
	{"G-LN-6", "resident memory of a node with 5 000 idle peers", measureMemory},
	{"G-CO-1", "64 callers that each wait for their answer, beside NATS", measureManyCallers},
	{"G-CO-2", "1, 8 and 64 callers: latency and CPU time", measureFewCallers},
	{"G-CO-3", "several peers on two cores, beside one peer on one core", measureCores},
	{"G-ST-1", "selftest: brw tests of 1 MiB, beside plain PUTs and GETs", measureSelftestBulk},
	{"G-ST-2", "selftest: ping tests, beside pairs of PUTs", measureSelftestPing},
	{"G-SIM-1", "events of simulated machines", measureEvents},
	{"G-SIM-2", "a million simulated nodes", measureStart},
	{"G-SIM-3", "simulated nodes with whole stacks", measureStacks},
	{"G-SIM-4", "replay of a recorded simulation", measureReplay},
	{"G-GO-1", "gossip: how fast newcomers get known", measurePropagation},
	{"G-GO-2", "gossip: false deaths where messages are lost", measureSafety},
	{"G-GO-3", "gossip: how fast a death is noticed", measureDetection},
	{"G-GO-4", "gossip: nodes that stand still again and again", measurePauses},
	{"G-GO-5", "gossip: bytes", measureTraffic},
	{"G-GO-6", "gossip: obsolete messages", measureObsolete},
	{"G-GO-7", "gossip: quick reboots", measureReboots},
	{"G-GO-8", "gossip: CPU and allocations", measureCost},
	{"G-GO-9", "gossip: many dead at once", measureGone},
	{"GO-memberlist", "gossip beside memberlist; bounded by no goal", measureGossipBeside},
	{"G-SC-1", "collectives: one way down the recommended tree", measureSpread},
	{"G-SC-2", "collectives: broadcast and aggregate between processes, beside Open MPI", measureCollective},
	{"G-SC-3", "collectives: time-outs and exact results", measureFailures},
	{"G-SC-4", "collectives: messages", measureMessages},
	{"G-SC-5", "collectives: arithmetic of trees, and a large simulation", measureArithmetic},
	{"G-SC-6", "collectives: bulk data, beside a raw Go tree", measureCollectiveBulk},
	{"G-SC-7", "collectives: a death ends the wait", measureDeathNotice},
	{"G-SC-8", "collectives: exact results whatever services do", measureServices},
	{"G-CH-1", "client health: pings", measureControlLoad},
	{"G-CH-2", "client health: how soon the dead are evicted, and how much at once", measureEvictions},
	{"G-CH-3", "client health: false evictions", measureFalseEvictions},
	{"G-CH-4", "client health: new masters for the clients of a dead one", measureRehoming},
	{"G-CH-5", "client health: very many clients on one master", measureMasters},
	{"G-CH-6", "client health: a partition of the servers", measureSplit},
	{"G-CH-etcd", "client health beside leases of etcd; bounded by no goal", measureLeases},
	{"G-MS-1", "zones: start", measureZoneBoot},
	{"G-MS-2", "zones: deaths and returns", measureZoneLeave},
	{"G-MS-3", "zones: monitors", measureZoneMonitors},
	{"G-MS-4", "zones: a system of a million nodes", measureSystemLeave},
	{"G-MS-5", "zones: at rest", measureZoneRest},
	{"G-MS-6", "zones: partitions", measureZoneHealing},
	{"G-MS-7", "zones: attributes", measureZoneAttributes},
	{"G-MS-8", "zones: slow nodes", measureZoneSlow},
	{"G-MS-9", "zones: the census of a million nodes", measureSystemCensus},
	{"G-MS-10", "zones: partitions of all lengths", measureZoneCuts},
	{"MS-memberlist", "zones beside memberlist; bounded by no goal", measureMemberlist},
	{"G-RM-1", "multicast: 2 KiB to all, until the origin knows that all have it", measureCastLatency},
	{"G-RM-2", "multicast: time to completion by the tree's depth", measureCastClimb},
	{"G-RM-3", "multicast: loss", measureCastLoss},
	{"G-RM-4", "multicast: acknowledgements", measureCastAcks},
	{"G-RM-5", "multicast: memory, with many sources and a changing group", measureCastMemory},
	{"G-RM-6", "multicast: a member dies", measureCastDeath},
	{"G-RM-7", "multicast: goodput, beside plain UDP multicast and NORM", measureCastGoodput},
	{"G-RM-8", "multicast: what is sent again without loss, and rates with much of it", measureCastNeedless},
	{"G-IB-1", "o2iblnd over softroce: 8 B PUT, half round trip between two processes", measureIBLatency},
	{"G-IB-2", "o2iblnd over softroce: 1 MiB PUT, streaming between two processes", measureIBStreaming},
	{"G-IB-3", "o2iblnd over softroce: allocations, and the ICRC", measureIBAllocations},
	{"G-IB-4", "softroce: memory of idle queue pairs", measureIBMemory},
	{"G-PA-1", "paths: two rails", measureTwoRails},
	{"G-PA-2", "paths: a rail is pulled under load", measurePulledRail},
	{"G-PA-3", "paths: a router, beside a plain TCP proxy", measureRouted},
	{"G-PA-4", "paths: the choice", measureChoice},
	{"G-PA-5", "paths: a router with 1000 peers", measureRouterPeers},
	{"G-OP-1", "metrics and the page, beside neither", measureObserved},
	{"G-OP-2", "metrics: a scrape with 1000 peers", measureScrape},
	{"G-OP-3", "lnetdump --analyze", measureAnalysis},
	{"G-OP-4", "a restart with handover of the listening sockets", measureRestart},
	{"LN-priority", "priority messages beside bulk; bounded by no goal", measurePriority},
}

// line is a line of the output: a measured value, and the bound that a goal sets for it.
type line struct {
	what  string
	ratio float64 // the measured value: a ratio to plain Go TCP or to another system, or a value in the unit below
	unit  string  // unit of ratio and limit; empty if they are ratios
	limit float64
	free  bool   // no goal bounds the value
	least bool   // true: limit is a lower bound; false: an upper one
	basis string // the absolute values from which the ratio was computed, and the conditions

	skipped string // the reason why the value was not measured; empty if it was
}

func (l line) met() bool {
	if l.least {
		return l.ratio >= l.limit
	}
	return l.ratio <= l.limit
}

// value formats the measured value with a digit more than the bound has, so that a value just
// beyond the bound is not rounded to it.
func (l line) value() string {
	if l.skipped != "" {
		return "- (" + l.skipped + ")"
	}
	return fmt.Sprintf("%.3f %s (%s)", l.ratio, cmp.Or(l.unit, "x"), l.basis)
}

func (l line) bound() string {
	if l.free {
		return "no goal"
	}
	relation := "<="
	if l.least {
		relation = ">="
	}
	return fmt.Sprintf("%s %.2f %s", relation, l.limit, cmp.Or(l.unit, "x"))
}

func (l line) outcome() string {
	if l.skipped != "" {
		return "skipped"
	}
	if l.free {
		return "-"
	}
	if l.met() {
		return "met"
	}
	return "missed"
}

// compare returns the ratio of two systems whose samples were taken in the same rounds. It is
// the median of the ratios of all rounds, so that a disturbance that lasts a whole round affects
// both systems.
func compare(ours, raw []float64) float64 {
	ratios := make([]float64, len(ours))
	for i := range ours {
		ratios[i] = ours[i] / raw[i]
	}
	return median(ratios)
}

// median returns the median of v, which must not be empty.
func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	n := len(v)
	return (v[(n-1)/2] + v[n/2]) / 2
}
