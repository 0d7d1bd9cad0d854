package engine

import (
	"testing"
	"time"

	"ulnet/lnd/sim"
	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/wire"
)

// BenchmarkFailover makes a manager take over a group: each of 1000 members names all of them.
func BenchmarkFailover(b *testing.B) {
	const n = 1000
	self := hostNID(n)
	list := wire.Order{Kind: wire.OrderKnown, Group: testGroup, Version: wire.Version{Epoch: 1, Counter: 1}, MTU: 2048, Voters: n, Of: n, Window: n}
	for i := range uint32(n) {
		list.Members = append(list.Members, wire.Member{ID: wire.ID{NID: hostNID(sim.NodeID(i)), Incarnation: 1}, Number: i})
	}
	for b.Loop() {
		g := NewManager(ManagerConfig{Self: self, Incarnation: 1000, Group: testGroup, Members: n, Managers: []nid.NID{self}})
		var out Output
		g.Step(0, Input{}, &out)
		report := wire.Order{Kind: wire.OrderReport, Group: testGroup, Epoch: 1, Version: list.Version, Incarnation: 1, MTU: 2048}
		g.Step(0, Input{Kind: Instructed, From: list.Members[0].NID, Data: report.AppendTo(nil)}, &out)
		for i, m := range list.Members {
			list.Incarnation, list.Epoch = 1, g.epoch
			out.Reset()
			g.Step(time.Duration(i), Input{Kind: Instructed, From: m.NID, Data: list.AppendTo(nil)}, &out)
		}
		if len(g.members) != n {
			b.Fatalf("%d members, %+v", len(g.members), g.stats)
		}
	}
}
