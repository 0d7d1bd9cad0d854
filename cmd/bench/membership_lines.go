package main

import (
	"fmt"
	"time"
)

// sideNodes is the number of nodes of a zone, and of a cluster of memberlist. Each node is a
// process.
const sideNodes = 64

// sideFigures returns the figures that are compared by their ratio: all except false deaths. If
// changes is false, the set of nodes is fixed, so there are no figures about newcomers, attributes
// and goodbyes.
func sideFigures(changes bool) []figure[*membership] {
	list := []figure[*membership]{{"all start at once: until all know all, to memberlist", func(m *membership) float64 { return m.join.Seconds() }, "s"}}
	for i, s := range []struct {
		what string
		of   func(m *membership) sideSpread
	}{
		{"a newcomer: until another knows, on average, to memberlist", func(m *membership) sideSpread { return m.newcomer }},
		{"an attribute: until another has it, on average, to memberlist", func(m *membership) sideSpread { return m.attribute }},
		{"a goodbye: until another knows, on average, to memberlist", func(m *membership) sideSpread { return m.goodbye }},
		{"a process is killed: until another knows, on average, to memberlist", func(m *membership) sideSpread { return m.death }},
		{"a process hangs: until another knows, on average, to memberlist", func(m *membership) sideSpread { return m.silence }},
	} {
		if changes || i >= 3 {
			list = append(list,
				figure[*membership]{s.what, func(m *membership) float64 { return s.of(m).mean.Seconds() }, "s"},
				figure[*membership]{"the same, the last one, to memberlist", func(m *membership) float64 { return s.of(m).last.Seconds() }, "s"})
		}
	}
	return append(list,
		figure[*membership]{"idle: payload of a node in a second, to memberlist", func(m *membership) float64 { return m.bytes }, "B"},
		figure[*membership]{"idle: messages of a node in a second, to memberlist", func(m *membership) float64 { return m.packets }, "messages"},
		figure[*membership]{"idle: CPU of a node, to memberlist", func(m *membership) float64 { return m.cpu }, "% of a core"},
	)
}

const sideFalse = "4 nodes stopped for 8 s and continued for 0.1 s, three times: deaths told of others"

// measureMemberlist compares zones with memberlist, both with their defaults. No goal bounds
// it.
func measureMemberlist(b *measurement) {
	besideMemberlist(b, sideNodes, system{name: "zone", changes: true}, system{name: "memberlist-lan", changes: true})
}

// measureGossipBeside compares gossip with memberlist at the same interval, by the events that
// gossip has. No goal bounds it.
func measureGossipBeside(b *measurement) {
	besideMemberlist(b, sideNodes/2, system{name: "gossip"}, system{name: "memberlist"})
}

func besideMemberlist(b *measurement, nodes int, own, other system) {
	if b.effort() == aGlance {
		b.add(skippedSides(own, "memberlist is built and run from 5 rounds on")...)
		return
	}
	program := must(buildPeers(b.ctx, peersModule))
	defer program.remove()
	if program.missing != "" {
		b.add(skippedSides(own, program.missing)...)
		return
	}
	other.program = program.path
	t := membershipTrial{nodes: nodes, interval: 200 * time.Millisecond, calm: 8 * time.Second, measured: 8 * time.Second, paused: 4, pauses: 3}
	var all [2][]*membership
	for range pick(b, 1, 1, 3) {
		for i, s := range []system{own, other} {
			all[i] = append(all[i], t.run(b, s))
		}
	}
	b.add(sideLines(all[0], all[1])...)
}

func skippedSides(own system, why string) []line {
	return append(skipped(sideFigures(own.changes), why), line{what: sideFalse, free: true, skipped: why})
}

// sideLines returns the lines that compare both systems.
func sideLines(ours, theirs []*membership) []line {
	basis := fmt.Sprintf("%d processes on loopback, both with their defaults", ours[0].nodes)
	if !ours[0].system.changes {
		basis = fmt.Sprintf("%d processes on loopback, both with an interval of 200 ms", ours[0].nodes)
	}
	var told, others membership
	for i := range ours {
		told.falseDeaths, told.returns = told.falseDeaths+ours[i].falseDeaths, told.returns+ours[i].returns
		others.falseDeaths, others.returns = others.falseDeaths+theirs[i].falseDeaths, others.returns+theirs[i].returns
	}
	return append(ratios(sideFigures(ours[0].system.changes), ours, theirs, "%.3f : %.3f", basis), line{
		what: sideFalse, ratio: float64(told.falseDeaths), unit: "deaths", free: true,
		basis: fmt.Sprintf("memberlist %d; returns of the dead %d : %d; %s", others.falseDeaths, told.returns, others.returns, basis),
	})
}
