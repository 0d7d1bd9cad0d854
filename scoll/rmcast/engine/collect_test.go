package engine

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/scoll/rmcast/wire"
)

// lying makes a node change its answers to a new manager.
func (w *world) lying(id sim.NodeID, change func(o *wire.Order)) {
	w.tap = func(from, _ sim.NodeID, p *packet) {
		o, err := wire.ParseOrder(p.data)
		if from != id || p.kind != Instructed || err != nil || o.Kind != wire.OrderKnown {
			return
		}
		change(&o)
		p.data = o.AppendTo(nil)
	}
}

// TestLiesOfOthers: RM-A9: a new manager does not believe what one member reports about
// others. Live members stay members with their incarnations, the group forms within the time that
// the test allows, and communication numbers do not run out.
func TestLiesOfOthers(t *testing.T) {
	spec.Covers(t, "RM-A9")
	for _, tt := range []struct {
		name   string
		change func(o *wire.Order, self wire.ID)
	}{
		{"all others have failed", func(o *wire.Order, self wire.ID) {
			for _, m := range o.Members {
				if m.ID != self {
					o.Departed = append(o.Departed, m.ID)
				}
			}
		}},
		{"all others have later lives", func(o *wire.Order, self wire.ID) {
			for i := range o.Members {
				if o.Members[i].ID != self {
					o.Members[i].Incarnation += uint64(time.Hour)
				}
			}
		}},
		{"many lives of all", func(o *wire.Order, _ wire.ID) {
			for _, m := range o.Members {
				for i := range uint64(300) {
					m.Incarnation += i
					o.Members = append(o.Members, m)
				}
			}
		}},
		{"many strangers", func(o *wire.Order, _ wire.ID) {
			for i := range sim.NodeID(2000) {
				o.Members = append(o.Members, wire.Member{ID: wire.ID{NID: hostNID(500 + i), Incarnation: 1}, Number: uint32(500 + i)})
				o.Departed = append(o.Departed, wire.ID{NID: hostNID(3000 + i), Incarnation: 1})
			}
		}},
		{"the highest numbers", func(o *wire.Order, _ wire.ID) {
			for i := range o.Members {
				o.Members[i].Number = 1<<32 - 2
			}
		}},
		{"a version to come", func(o *wire.Order, _ wire.ID) {
			o.Version = wire.Version{Epoch: o.Epoch, Counter: 1}
			o.Oldest = wire.Version{Epoch: o.Epoch, Counter: 1 << 63}
		}},
	} {
		w := newWorld(t, 5, func(w *world, _ *sim.Config[*packet]) {
			w.wall, w.rejoin, w.manager.Members = testWall, true, 1024
			for id := range sim.NodeID(5) {
				w.manager.Admit = append(w.manager.Admit, hostNID(id))
			}
		})
		w.form(5)
		incarnations := map[sim.NodeID]wire.ID{}
		for id := sim.NodeID(1); id < 4; id++ {
			incarnations[id] = w.hosts[id].m.self
		}
		self := w.hosts[4].m.self
		w.lying(4, func(o *wire.Order) { tt.change(o, self) })
		w.restart(0)
		w.run(3 * time.Second)
		w.honest(tt.name, 10*time.Second)
		for id, incarnation := range incarnations { // any order: the nodes are independent
			if w.hosts[id].m.self != incarnation || len(w.hosts[id].gone) > 0 {
				t.Errorf("%s: node %d was %v, and is %v", tt.name, id, incarnation, w.hosts[id].m.self)
			}
		}
		w.tap = nil
		for id := range sim.NodeID(5) {
			w.restart(id)
			w.honest(tt.name+", and a restart", 15*time.Second)
		}
		g := w.hosts[0].g
		if len(g.departed) > 0 || len(g.latest.Departed) > 20 || g.next > maxNumber+100 {
			t.Errorf("%s: %d have failed, the next number is %d", tt.name, len(g.departed), g.next)
		}
	}
}

// TestMostSayFailed: RM-A8: if a majority of members reports that a member has failed, it counts as
// failed, even if it answers a new manager.
func TestMostSayFailed(t *testing.T) {
	spec.Covers(t, "RM-A8")
	w := clocked(t, 5, 1)
	out := w.hosts[4].m.self
	w.tap = func(from, _ sim.NodeID, p *packet) {
		if o, err := wire.ParseOrder(p.data); err == nil && o.Kind == wire.OrderKnown && from != 4 {
			o.Departed = append(o.Departed, out)
			p.data = o.AppendTo(nil)
		}
	}
	w.restart(0) // a restarted node has no list to report
	w.run(3 * time.Second)
	if h, st := w.hosts[4], w.hosts[0].g.stats; h.m.self == out || len(h.gone) != 1 || st.Contradicted > 0 {
		t.Errorf("%v, gone %v, %+v", h.m.self, h.gone, st)
	}
	w.tap = nil
	w.honest("the restart", 10*time.Second)
}
