package engine

import (
	"slices"
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

// strangers returns n IDs of members that no group has had.
func strangers(n int) (ids []wire.ID) {
	for i := range sim.NodeID(n) {
		ids = append(ids, testID(1000+i))
	}
	return ids
}

// TestListsAfterLies: RM-A9: a member tells a new manager of so many failed members that a list can just name them. Later
// another member fails. The others can parse the list that says so.
func TestListsAfterLies(t *testing.T) {
	spec.Covers(t, "RM-A9")
	s, list := newSearch(), []sim.NodeID{1, 2, 3}
	s.begin(list...)
	s.answer(3, 3, list, strangers(wire.MaxMembers)...)
	s.answer(3, 1, list)
	s.answer(3, 2, list)
	s.publishes(t, list, nil)
	s.g.Step(s.g.now, Input{Kind: Health, From: hostNID(2)}, &s.out)
	s.publishes(t, []sim.NodeID{1, 3}, []sim.NodeID{2})
	for _, e := range s.out.Effects {
		if _, err := wire.ParseOrder(s.out.message(&e)); e.Kind == DoReport && err != nil {
			t.Fatal(err)
		}
	}
}

// TestFailuresOfMost: RM-A9: members tell a new manager of failed members, and one of them invents so many that there is no
// room for all. The list names the one that most members have told of, and one that does not answer.
func TestFailuresOfMost(t *testing.T) {
	spec.Covers(t, "RM-A9")
	s, list := newSearch(), []sim.NodeID{1, 2, 3, 4}
	s.begin(3, 1, 2)
	s.answer(3, 3, list, strangers(wire.MaxMembers)...)
	s.answer(3, 1, list, testID(5))
	s.answer(3, 2, list, testID(5))
	s.g.Step(s.g.collect.by, Input{}, &s.out)
	s.publishes(t, []sim.NodeID{1, 2, 3}, []sim.NodeID{4})
	for _, host := range []sim.NodeID{4, 5} {
		if !slices.Contains(s.g.latest.Departed, testID(host)) {
			t.Errorf("the list does not name %d as failed", host)
		}
	}
}

// buffer is how long the orders may be that members can receive, in a group of at most some members: see New of package
// rmcast.
func buffer(members int) int { return wire.OrderSize + members*(wire.MemberSize+2*wire.DepartedSize) }

// TestListsFit: RM-A9: a member tells a new manager of more failed members than the buffers of the others have room for.
// The lists that follow fit into these buffers, and name a member that does not answer.
func TestListsFit(t *testing.T) {
	spec.Covers(t, "RM-A9")
	s, list := newSearch(), []sim.NodeID{1, 2, 3, 4, 5, 6}
	s.g.cfg.Members = 16
	s.begin(list...)
	for host := range sim.NodeID(3) {
		s.answer(3, 1+host, list)
	}
	s.answer(3, 5, list, strangers(100)[:50]...)
	s.answer(3, 6, []sim.NodeID{6}, strangers(100)[50:]...)
	s.g.Step(s.g.collect.by, Input{}, &s.out)
	s.publishes(t, []sim.NodeID{1, 2, 3, 5, 6}, []sim.NodeID{4})
	if o := &s.g.latest; !slices.Contains(o.Departed, testID(4)) || len(o.AppendTo(nil)) > buffer(16) {
		t.Errorf("a list of %d bytes, and %d failed members", len(o.AppendTo(nil)), len(o.Departed))
	}
}

// TestFailureNamedTwice: RM-A8, RM-A9: a member names another one as failed, and repeats that in the same answer to a new
// manager. That is what one member says all the same: the other one stays. The same holds for a member that it invents.
func TestFailureNamedTwice(t *testing.T) {
	spec.Covers(t, "RM-A8", "RM-A9")
	s, list := newSearch(), []sim.NodeID{1, 2, 3}
	s.begin(list...)
	s.answer(3, 3, []sim.NodeID{1, 2, 3, 4, 4, 4}, testID(1), testID(1), testID(1))
	if n := s.g.collect.probe(testID(4)).named; n != 1 {
		t.Errorf("%d members have named it", n)
	}
	s.answer(3, 1, list)
	s.answer(3, 2, list)
	s.g.Step(s.g.collect.by, Input{}, &s.out)
	s.publishes(t, []sim.NodeID{1, 2}, []sim.NodeID{3, 4})
}

// TestManyFormerMembers: RM-A8: members tell a new manager of more failed members than the group may have members. A node
// that asks to join with the ID of any of these has to take another one.
func TestManyFormerMembers(t *testing.T) {
	spec.Covers(t, "RM-A8")
	s, list := newSearch(), []sim.NodeID{1, 2, 3}
	s.g.cfg.Members = 5
	s.begin(list...)
	for _, host := range list {
		s.answer(3, host, list, strangers(6)...)
	}
	s.wait()
	for id := range sim.NodeID(6) {
		s.told(s.g.now, 1000+id, &wire.Order{Kind: wire.OrderJoin})
	}
	s.publishes(t, list, []sim.NodeID{1000, 1001, 1002, 1003, 1004, 1005})
}
