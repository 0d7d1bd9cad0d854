package main

import (
	"fmt"

	"ulnet/scoll"
)

// Parameters of the bulk broadcasts of goal G-SC-6: the number of members, and the number of
// broadcasts in a round.
const (
	bulkMembers = 8
	bulkWarm    = 10
	bulkSegment = 128 << 10 // segment of pipelined bulk data, in bytes
)

// bulkTree is a binomial tree. With eight members it has three levels, and four members forward
// data.
var bulkTree = scoll.Tree{Type: scoll.KNomial, K: 2}

// measureCollectiveBulk measures goal G-SC-6: 1 MiB of bulk data to eight members, fetched over
// the tree, compared with a tree of plain Go TCP connections. Like collectives without
// pipelining, a member of that tree reads all of a broadcast before it forwards it.
func measureCollectiveBulk(b *measurement) {
	c := newCollective(b, bulkMembers, memberSetup{Tree: bulkTree})
	defer c.Stop()
	run := collectiveRun{Bulk: true, Bytes: bulk, Warm: bulkWarm, Count: pick(b, 20, 100, 100)}
	raw, segmented := run, run
	raw.Raw, segmented.Segment = true, bulkSegment
	ours, plain, pipelined := c.contender("scoll", run), c.contender("raw", raw), c.contender("pipelined", segmented)
	b.alternate(b.rounds, ours, plain, pipelined)
	what := fmt.Sprintf("1 MiB bulk to %d processes, ", bulkMembers)
	cpu := line{
		what:  what + "CPU time of all, which an extra copy per hop would raise",
		ratio: compare(ours.cpu, plain.cpu), limit: 1.25,
		basis: fmt.Sprintf("%.0f µs, raw %.0f µs", median(ours.cpu)/1e3, median(plain.cpu)/1e3),
	}
	b.add(
		ours.against(plain, what+"p50", 0.5, 1.25), cpu,
		pipelined.against(plain, what+"p50, pipelined in segments of 128 KiB", 0.5, 0),
	)
}
