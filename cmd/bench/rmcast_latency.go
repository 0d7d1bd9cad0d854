package main

import (
	"cmp"
	"fmt"
)

// Parameters of the messages that are timed one at a time.
const (
	castBytes = 2 << 10
	castLimit = 1.5 // largest allowed ratio to the plain program
)

// castPair has the contenders for one group size: those of this project in both modes of
// waiting, and those that they are compared with.
type castPair struct {
	nodes                 int
	waiting, looking      *contender // this project: processes that block while they wait, and processes that poll and yield the core between polls
	plain, plainLooking   *contender
	broadcast, alone      *contender // Open MPI: its broadcast with a barrier after it, and its broadcast alone
	waitingCast, lookCast *castProcesses
}

// measureCastLatency measures goal G-RM-1: the time until the origin of a message of 2 KiB knows
// that all members have it.
func measureCastLatency(b *measurement) {
	measureCastSavings(b)
	mpi := must(compileMPI(b.ctx))
	defer mpi.remove()
	sizes := pick(b, []int{2, 3}, []int{2, 3, 4, 5, 6, 7}, []int{2, 3, 4, 5, 6, 7})
	var pairs []*castPair
	noLab := b.inCastLab(sizes[len(sizes)-1], func(l *castLab) {
		for _, nodes := range sizes {
			pairs = append(pairs, l.pair(mpi, nodes))
		}
	})
	missing := cmp.Or(noLab, mpi.missing)
	for i, nodes := range sizes {
		p := &castPair{nodes: nodes}
		if noLab == "" {
			p = pairs[i]
		}
		b.add(p.lines(noLab, missing)...)
	}
	b.add(medianSaving(pairs, missing))
}

func castTo(nodes int) string { return fmt.Sprintf("2 KiB to %d nodes in namespaces, p50", nodes) }

// pair measures groups of one size.
func (l *castLab) pair(mpi openMPI, nodes int) *castPair {
	p := &castPair{nodes: nodes, waitingCast: l.group(nodes, memberSetup{})}
	defer p.waitingCast.Stop()
	p.lookCast = l.group(nodes, memberSetup{BusyPoll: busyPoll})
	defer p.lookCast.Stop()
	peer := newMPIHosts(mpi, l, p.waitingCast)
	o := casterOrder{Bytes: castBytes, Warm: 100, Count: pick(l.measurement, 100, 1000, 2000)}
	looking := o
	looking.Look = busyPoll
	p.waiting, p.looking = p.waitingCast.contender("rmcast", "ours", o), p.lookCast.contender("rmcast", "ours", o)
	p.plain, p.plainLooking = p.waitingCast.contender("plain Go", "plain", o), p.lookCast.contender("plain Go", "plain", looking)
	contenders := []*contender{p.looking, p.plainLooking, p.waiting, p.plain}
	if peer.missing == "" {
		p.broadcast = peer.contender(l.ctx, "Open MPI bcast and barrier", nodes, o, true)
		p.alone = peer.contender(l.ctx, "Open MPI bcast, to the last member", nodes, o, false)
		contenders = append(contenders, p.broadcast, p.alone)
	}
	l.alternate(pick(l.measurement, 1, min(l.rounds, 5), l.rounds), contenders...)
	return p
}

// lines returns the lines for the group size. If this project was not measured, noLab contains
// the reason, and if Open MPI was not measured, noMPI contains it.
func (p *castPair) lines(noLab, noMPI string) []line {
	what := castTo(p.nodes)
	lines := []line{
		{what: what + ", yielding waits, to a plain Go program", limit: castLimit, skipped: noLab},
		{what: what + ", blocking waits, to a plain Go program", limit: castLimit, skipped: noLab},
		{what: what + ", yielding, saved against Open MPI's bcast and barrier", unit: "%", least: true, free: true, skipped: noMPI},
		{what: what + ", yielding, saved against its bcast alone", unit: "%", least: true, free: true, skipped: noMPI},
	}
	if noLab == "" {
		lines[0] = p.looking.against(p.plainLooking, lines[0].what, 0.5, castLimit)
		lines[1] = p.waiting.against(p.plain, lines[1].what, 0.5, castLimit)
	}
	if noMPI == "" {
		for i, peer := range []*contender{p.broadcast, p.alone} {
			l := &lines[2+i]
			l.ratio = p.saving(peer)
			l.basis = fmt.Sprintf("%.0f µs, Open MPI %.0f µs, p99 %.0f : %.0f µs",
				median(p.looking.each(0.5))/1e3, median(peer.each(0.5))/1e3, median(p.looking.each(0.99))/1e3, median(peer.each(0.99))/1e3)
		}
	}
	lines[3].basis += fmt.Sprintf("; the paper %.1f %%", paperSavings[p.nodes])
	return lines
}

// paperSavings contains column 2 of table 1 of the paper: how many percent of the time of MPI_Bcast,
// without a barrier after it, the paper's multicast saves, by the number of nodes.
var paperSavings = map[int]float64{2: 67.03, 3: 49.11, 4: 50.23, 5: 33.56, 6: 35.88, 7: 39.34}

// saving returns how many percent of a peer's median time rmcast saves.
func (p *castPair) saving(peer *contender) float64 {
	return 100 * (1 - compare(p.looking.each(0.5), peer.each(0.5)))
}

// medianSaving returns the line of the median saving in groups of 3 and more.
func medianSaving(pairs []*castPair, missing string) line {
	l := line{
		what: "yielding, saved against Open MPI's bcast and barrier, median over 3 to 7 nodes", unit: "%", least: true, limit: 33, skipped: missing,
	}
	if missing != "" {
		return l
	}
	var savings []float64
	for _, p := range pairs {
		if p.nodes >= 3 {
			savings = append(savings, p.saving(p.broadcast))
		}
	}
	l.ratio, l.basis = median(savings), fmt.Sprintf("%.0f %%; links of %d bytes", savings, castMTU)
	return l
}
