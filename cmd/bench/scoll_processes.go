package main

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"ulnet/cmd/bench/worker"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/scoll"
)

// The payload of goal G-SC-2, and the number of warm-up broadcasts at the beginning of a round, which do not
// count.
const (
	collectiveBytes = 2 << 10
	collectiveWarm  = 200
)

// collectiveGroups are the group sizes that are compared with Open MPI, with the bounds for the
// median and the 99th percentile; 0 means no bound.
var collectiveGroups = []struct {
	nodes    int
	p50, p99 float64
}{
	{nodes: 2},
	{nodes: 4, p50: 2, p99: 1},
	{nodes: 8, p50: 1.2, p99: 1},
}

// flat returns the tree that collectives and plain TCP use for small groups on one machine: a
// root and its children. There the processes share cores, and every level of a tree would add a
// wake-up.
func flat(nodes int) scoll.Tree { return scoll.Tree{Type: scoll.KNomial, K: uint32(nodes)} }

// collectiveRun orders the process of a member to broadcast.
type collectiveRun struct {
	Raw         bool // broadcast over the plain TCP tree instead of by collectives
	Bulk        bool // send Bytes as bulk data, otherwise as payload
	Segment     int  // size of segments of bulk data, in bytes; 0 means that it is not pipelined
	Bytes       int
	Warm, Count int
}

// latencies are the times of the operations of a run, in nanoseconds.
type latencies []float64

// percentile returns a quantile; part is from 0 to 1.
func (l latencies) percentile(part float64) float64 {
	sorted := slices.Sorted(slices.Values(l))
	return sorted[min(int(part*float64(len(sorted))), len(sorted)-1)]
}

// collectiveGroup contains the processes of a group. Each process is a member, and the first one
// is the root of the broadcasts and of a plain TCP tree of the same shape.
type collectiveGroup struct{ worker.Crew }

// memberSetup contains the parameters of the process of a member.
type memberSetup struct {
	Rank     int
	Addrs    []netip.Addr
	Port     uint16 // port of LNet; plain datagrams go to the next one
	BusyPoll time.Duration

	Tree scoll.Tree // shape of the tree of collectives

	Window   int // window of multicast, in datagrams
	Fragment int // payload of a multicast datagram in bytes; 0 means 4096
}

func newCollective(b *measurement, nodes int, setup memberSetup) collectiveGroup {
	for i := range nodes {
		setup.Addrs = append(setup.Addrs, netip.AddrFrom4([4]byte{127, 0, 2, byte(i + 1)}))
	}
	setup.Port = must(loopback.FreePort(setup.Addrs...))
	return collectiveGroup{b.muster("member", setup, func(int) func(func() error) error { return nil })}
}

// muster starts the processes of a group, and tells them the addresses of each other's plain TCP
// servers. It returns when all are connected. If within is not nil, it returns for each rank the
// function that starts the process in its environment; see worker.Config.
func (b *measurement) muster(kind string, setup memberSetup, within func(rank int) func(func() error) error) (c worker.Crew) {
	err := caught(func() {
		for setup.Rank = range setup.Addrs {
			c = append(c, must(b.start(b.ctx, worker.Config{Kind: kind, Params: setup, Within: within(setup.Rank)})))
		}
		must(worker.AskAll[bool](c, "join", must(worker.ReadyAll[netip.AddrPort](c))))
	})
	if err != nil {
		c.Stop()
		succeed(err)
	}
	return c
}

// usage returns the sum of the resources that all members have used.
func (c collectiveGroup) usage() (sum usage) {
	for _, u := range must(worker.AskAll[usage](c.Crew, "usage", nil)) {
		sum = sum.plus(u)
	}
	return sum
}

// contender returns a contender in whose rounds the root broadcasts. It records the resources
// that all members use.
func (c collectiveGroup) contender(name string, run collectiveRun) *contender {
	return &contender{name: name, run: func(of *contender) (latencies, error) {
		before := c.usage()
		took := must(worker.Ask[latencies](c.Crew[0], "broadcast", run))
		used, each := c.usage().minus(before), float64(run.Warm+run.Count)
		of.cpu = append(of.cpu, float64(used.CPU)/each)
		of.mallocs = append(of.mallocs, float64(used.Mallocs)/each/float64(len(c.Crew)))
		return took, nil
	}}
}

// busyPoll is the value of busy_poll with which members are compared with Open MPI, whose
// processes poll too: both yield to other processes between polls.
const busyPoll = 100 * time.Microsecond

// measureCollective measures goal G-SC-2: a broadcast of 2 KiB, whose result is the sum of all
// members' answers. It compares that with a broadcast and a barrier of Open MPI, and with a tree
// of plain Go TCP connections, whose processes do not poll.
func measureCollective(b *measurement) {
	mpi := must(compileMPI(b.ctx))
	defer mpi.remove()
	for _, g := range collectiveGroups {
		lines := measureGroup(b, mpi, g.nodes)
		for i, limit := range []float64{g.p50, g.p99} {
			lines[i].limit, lines[i].free = limit, limit == 0
		}
		b.add(lines...)
	}
}

// measureGroup compares groups of one size.
func measureGroup(b *measurement, mpi openMPI, nodes int) (lines []line) {
	c := newCollective(b, nodes, memberSetup{Tree: flat(nodes)})
	defer c.Stop()
	polling := newCollective(b, nodes, memberSetup{Tree: flat(nodes), BusyPoll: busyPoll})
	defer polling.Stop()
	run := collectiveRun{Bytes: collectiveBytes, Warm: collectiveWarm, Count: pick(b, 200, 2000, 2000)}
	raw := run
	raw.Raw = true
	ours, waiting, plain := polling.contender("scoll", run), c.contender("scoll", run), c.contender("raw Go tree", raw)
	peer := &contender{name: "Open MPI", run: func(*contender) (latencies, error) { return mpi.run(b.ctx, nodes, run) }}
	contenders := []*contender{ours, waiting, plain, peer}
	if mpi.missing != "" {
		contenders = contenders[:3]
	}
	b.alternate(b.rounds, contenders...)
	what := fmt.Sprintf("broadcast and aggregate 2 KiB, %d processes, ", nodes)
	for _, c := range []struct {
		*contender
		how string
	}{{ours, "with busy_poll"}, {waiting, "without busy_poll"}} { // lnetd runs without busy_poll by default
		for _, p := range []struct {
			name string
			part float64
		}{{"p50", 0.5}, {"p99", 0.99}} {
			l := line{what: what + p.name + ", " + c.how, skipped: mpi.missing, free: true}
			if mpi.missing == "" {
				l = c.against(peer, l.what, p.part, 0)
			}
			lines = append(lines, l)
		}
	}
	for _, c := range []struct {
		*contender
		how string
	}{{ours, ""}, {waiting, ", without busy_poll"}} {
		tree := c.against(plain, what+"p50 to a raw Go tree"+c.how, 0.5, 0)
		tree.basis += fmt.Sprintf(", CPU %.0f : %.0f µs", median(c.cpu)/1e3, median(plain.cpu)/1e3)
		lines = append(lines, tree)
	}
	return append(lines, line{
		what: what + "allocations of a member", ratio: median(ours.mallocs), unit: "objects", limit: 2, basis: "for a request, with its root",
	})
}

// collectiveTimeout bounds a broadcast.
const collectiveTimeout = time.Minute
