package engine

import (
	"slices"
	"testing"
	"time"

	"ulnet/lnd/sim"
	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/wire"
)

// takesOver makes a manager take over a group of n members, each of which names all of them. out has the
// effects of the last step.
func takesOver(out *Output, n uint32) *Manager {
	self := hostNID(sim.NodeID(n))
	list := wire.Order{Kind: wire.OrderKnown, Group: testGroup, Version: wire.Version{Epoch: 1, Counter: 1}, MTU: 2048, Voters: n, Of: uint16(n), Window: n}
	for i := range n {
		list.Members = append(list.Members, wire.Member{ID: wire.ID{NID: hostNID(sim.NodeID(i)), Incarnation: 1}, Number: i})
	}
	g := NewManager(ManagerConfig{Self: self, Incarnation: 1000, Group: testGroup, Members: int(n), Managers: []nid.NID{self}})
	g.Step(0, Input{}, out)
	report := wire.Order{Kind: wire.OrderReport, Group: testGroup, Epoch: 1, Version: list.Version, Incarnation: 1, MTU: 2048}
	g.Step(0, Input{Kind: Instructed, From: list.Members[0].NID, Data: report.AppendTo(nil)}, out)
	for i, m := range list.Members {
		list.Incarnation, list.Epoch = 1, g.epoch
		out.Reset()
		g.Step(time.Duration(i), Input{Kind: Instructed, From: m.NID, Data: list.AppendTo(nil)}, out)
	}
	out.Reset()
	g.Step(g.reportsBy(), Input{}, out)
	return g
}

// BenchmarkFailover makes a manager take over a group of 1000 members.
func BenchmarkFailover(b *testing.B) {
	const n = 1000
	for b.Loop() {
		var out Output
		if g := takesOver(&out, n); len(g.members) != n {
			b.Fatalf("%d members, %+v", len(g.members), g.stats)
		}
	}
}

// TestListsShared: the messages that send a list to its n members have a header each, but share one encoding
// of the n members.
func TestListsShared(t *testing.T) {
	const n = 200
	var out Output
	g := takesOver(&out, n)
	lists := 0
	for _, e := range out.Effects {
		if e.Kind != DoReport || e.To == g.cfg.Self {
			continue
		}
		o, err := wire.ParseOrder(out.message(&e))
		you := slices.IndexFunc(o.Members, func(m wire.Member) bool { return m.NID == e.To })
		if err != nil || o.Kind != wire.OrderList || len(o.Members) != n || you < 0 || o.Members[you].Number != o.You {
			t.Fatalf("%v, a message to %v: %v for %d among %d members", err, e.To, o.Kind, o.You, len(o.Members))
		}
		lists++
	}
	if most := n*wire.OrderSize + 4096; lists != n || len(out.Buf) > most {
		t.Errorf("%d lists take %d bytes, want %d at most", lists, len(out.Buf), most)
	}
}

// message returns the message of an effect.
func (o *Output) message(e *Effect) []byte {
	return slices.Concat(o.Buf[e.Head.Begin:e.Head.End], e.Data)
}
