package engine

import (
	"testing"
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnd/lndtest/spec"
)

// twins starts a management zone of three nodes, and two base zones with one name.
func twins(t *testing.T, seed uint64) *system { return namesakes(t, seed, 8, 15) }

// namesakes starts a management zone of three nodes, and base zones with one name: the nodes of each zone end before
// a node with the given number.
func namesakes(t *testing.T, seed uint64, ends ...int) *system {
	t.Helper()
	w := newWorld(t, seed, ends[len(ends)-1], Config{})
	s := &system{world: w, supervisors: w.nodes[:3]}
	begin := 3
	for _, end := range ends {
		s.zones = append(s.zones, w.nodes[begin:end])
		begin = end
	}
	for i, list := range append([][]*node{s.supervisors}, s.zones...) {
		for j, n := range list {
			n.boot = []wire.ID{list[(j+1)%len(list)].id}
			n.change = func(c *Config) {
				c.Zone, c.Supervisor = "management", i == 0
				if i > 0 {
					c.Zone, c.Management = "rack", []wire.ID{s.supervisors[0].id, s.supervisors[1].id}
				}
			}
			n.start()
		}
	}
	return s
}

// TestThreeZonesOfOneName: if three zones have one name, the supervisor and the delegates of the two zones that do not
// count report that, as they do for two zones (MS-98, MS-A24).
func TestThreeZonesOfOneName(t *testing.T) {
	spec.Covers(t, "MS-98", "MS-A24")
	for seed := range uint64(6) {
		s := namesakes(t, seed, 8, 15, 21)
		heard := map[int]int{}
		s.told = func(n *node, e *Event) {
			if e.Kind == Contested {
				heard[n.i]++
			}
		}
		s.run(15 * time.Second)
		census := s.supervisors[0].m.Census()
		if len(census) != 1 {
			t.Fatalf("seed %d: census %+v", seed, census)
		}
		if guard := s.byNID[census[0].Supervisor.Endpoints()[0]]; heard[guard.i] == 0 {
			t.Errorf("seed %d: the supervisor does not report it: %v", seed, heard)
		}
		for z := range s.zones {
			a := s.active(z)[0]
			if counts := a.id == census[0].Delegate; a.m.Delegation().Contested == counts || heard[a.i] == 0 != counts {
				t.Errorf("seed %d: zone %d, which counts: %v, is contested: %v, told %v", seed, z, counts, a.m.Delegation().Contested, heard)
			}
		}
	}
}

// TestContestBegins: a contest is reported when it has lasted for a timeout, even if the supervisor has just started
// (MS-98).
func TestContestBegins(t *testing.T) {
	spec.Covers(t, "MS-98")
	s := newSolo(t, 1, Config{Supervisor: true})
	s.m.out = &s.out
	g := &guarded{delegates: []registered{{Named: wire.Named{ID: testID(1)}, activation: 2}}}
	for _, at := range []time.Duration{3 * time.Second, 4 * time.Second, 6 * time.Second, 7 * time.Second} {
		s.m.now = at
		if told := g.contest(s.m, &wire.Dispatch{From: testID(2)}); told != (at >= 3*time.Second+s.m.cfg.Timeout) {
			t.Errorf("at %v: %v", at, told)
		}
	}
}

// TestTwoZonesOfOneName: if two zones have one name, one of them takes precedence, and the
// census does not alternate between them. The supervisor and the delegate of the other zone
// report the conflict until one zone is gone (MS-98, MS-A24).
func TestTwoZonesOfOneName(t *testing.T) {
	spec.Covers(t, "MS-98", "MS-A24")
	for seed := range uint64(6) {
		s := twins(t, seed)
		heard := map[int]int{}
		s.told = func(n *node, e *Event) {
			if e.Kind != Contested {
				return
			}
			heard[n.i]++
			if e.Zone != "rack" || len(e.Members) != 2 || e.Members[0].ID == e.Members[1].ID {
				s.fail("%+v", e)
			}
		}
		s.run(10 * time.Second)
		census := s.supervisors[0].m.Census()
		if len(census) != 1 || census[0].Delegates != 3 || census[0].Size != 5 && census[0].Size != 7 {
			t.Fatalf("seed %d: census %+v", seed, census)
		}
		counts, other := s.active(0), s.active(1)
		if census[0].Size == 7 {
			counts, other = other, counts
		}
		guard := s.byNID[census[0].Supervisor.Endpoints()[0]]
		if heard[guard.i] != 1 || heard[other[0].i] != 1 || len(heard) != 2 {
			t.Errorf("seed %d: told %v, want %d and %d once", seed, heard, guard.i, other[0].i)
		}
		if !other[0].m.Delegation().Contested || counts[0].m.Delegation().Contested || guard.m.stats.Contested == 0 {
			t.Errorf("seed %d: %+v", seed, other[0].m.Delegation())
		}
		before := guard.m.attributes.of[guard.m.self].u
		s.run(20 * time.Second)
		if now := guard.m.attributes.of[guard.m.self].u; now != before || heard[guard.i] != 1 {
			t.Errorf("seed %d: the census was written %d times in 20 s at rest, told %v", seed, now-before, heard)
		}
		for _, n := range s.nodes[3:] {
			if n.m.Hash() == counts[0].m.Hash() {
				n.kill()
			}
		}
		s.run(10 * time.Second)
		if c := s.supervisors[0].m.Census(); len(c) != 1 || c[0].Delegate != other[0].id || c[0].Size != other[0].m.Len() || other[0].m.Delegation().Contested {
			t.Errorf("seed %d: census %+v once one zone is gone, %+v", seed, c, other[0].m.Delegation())
		}
	}
}

// TestTakeOverIsNoContest: when one delegate takes over from another, the two are not reported
// as two zones. The sides of a partitioned zone are reported (MS-100, MS-A24).
func TestTakeOverIsNoContest(t *testing.T) {
	spec.Covers(t, "MS-100", "MS-A24")
	s := newSystem(t, 1, 1, 8, 3)
	contested := 0
	s.told = func(_ *node, e *Event) {
		if e.Kind == Contested {
			contested++
		}
	}
	s.until(5*time.Second, s.right)
	for range 3 {
		a := s.active(0)[0]
		a.pause()
		s.run(8 * time.Second)
		a.resume()
		s.run(5 * time.Second)
	}
	if a := s.active(0); contested > 0 || len(a) != 1 || a[0].m.delegate.own < 2 {
		t.Errorf("told %d times, %d active", contested, len(a))
	}
	side := map[int]bool{}
	for _, n := range s.zones[0][:4] {
		side[n.i] = true
	}
	s.cut = func(a, b int) bool { return a > 2 && b > 2 && side[a] != side[b] }
	s.run(30 * time.Second)
	if contested == 0 || len(s.active(0)) != 2 {
		t.Errorf("told %d times of %d active", contested, len(s.active(0)))
	}
	s.cut = nil
	s.until(time.Minute, s.right)
	contested = 0
	s.run(10 * time.Second)
	if a := s.active(0); len(a) != 1 || contested > 0 || a[0].m.Delegation().Contested {
		t.Errorf("told %d times of %d active", contested, len(a))
	}
}

// TestGuardedBounds: the memory for data of delegates is bounded, and a new active delegate
// finds room among many others (MS-A24).
func TestGuardedBounds(t *testing.T) {
	spec.Covers(t, "MS-A24")
	s := newSolo(t, 1, Config{Supervisor: true, MaxMembers: 50})
	register := func(i int, d wire.Dispatch) {
		d.Kind, d.Zone, d.From, d.Version = wire.Register, "rack", testID(i), v(3, 1)
		s.step(Input{Kind: DispatchDelivered, Dispatch: &d})
	}
	for i := 1; i < 40; i++ {
		register(i, wire.Dispatch{Registration: 1})
	}
	g := s.m.supervisor.zones["rack"]
	if len(g.delegates) != maxDelegates || s.m.stats.TooManyZones != 39-maxDelegates {
		t.Errorf("%d delegates, %d refused", len(g.delegates), s.m.stats.TooManyZones)
	}
	var many []wire.Named
	for i := 1; i < 90; i++ {
		many = append(many, wire.Named{ID: testID(i), Version: v(3, 1)})
	}
	register(60, wire.Dispatch{Registration: 1, Activation: 1, Flags: wire.Whole, Joined: many})
	if g.delegates[0].ID != testID(60) || len(g.members) != 50 || s.m.stats.ViewFull != 1 {
		t.Errorf("first is %v of %d members, %d left out", g.delegates[0].ID, len(g.members), s.m.stats.ViewFull)
	}

	s.m.supervisor.most = 70 // bound of the members of all zones together
	d := wire.Dispatch{Kind: wire.Register, Zone: "rack2", From: testID(70), Version: v(3, 1), Registration: 1, Activation: 1, Flags: wire.Whole, Joined: many}
	s.step(Input{Kind: DispatchDelivered, Dispatch: &d})
	if n := len(s.m.supervisor.zones["rack2"].members); n != 20 || s.m.stats.ViewFull != 2 {
		t.Errorf("%d members of a second zone, %d times some were left out", n, s.m.stats.ViewFull)
	}
}

// TestEarlierRegistration: a late registration of a delegate's earlier incarnation replaces
// nothing (MS-A24).
func TestEarlierRegistration(t *testing.T) {
	spec.Covers(t, "MS-A24")
	s := newSolo(t, 1, Config{Supervisor: true})
	for _, d := range []wire.Dispatch{
		{Kind: wire.Register, Version: v(5, 1), Activation: 2, Registration: 1, Size: 7},
		{Kind: wire.Register, Version: v(4, 9), Activation: 3, Registration: 8, Size: 2},
		{Kind: wire.Unregister, Version: v(4, 9)},
	} {
		d.Zone, d.From = "rack", testID(1)
		s.step(Input{Kind: DispatchDelivered, Dispatch: &d})
	}
	if c := s.m.Census(); len(c) != 1 || c[0].Activation != 2 || c[0].Version != v(5, 1) || c[0].Size != 7 || s.m.stats.Stale != 2 {
		t.Errorf("census %+v, %d late messages", c, s.m.stats.Stale)
	}
}

// TestLastDelegateMoves: if the last delegate of a zone moves to another supervisor, the zone
// stays in the census until the new supervisor has it. If the last delegate says goodbye, the
// zone does not stay (MS-98).
func TestLastDelegateMoves(t *testing.T) {
	spec.Covers(t, "MS-98")
	for _, moves := range []bool{true, false} {
		s := newSolo(t, 1, Config{Supervisor: true})
		s.step(Input{Kind: DispatchDelivered, Dispatch: &wire.Dispatch{Kind: wire.Register, Zone: "rack", From: testID(1), Version: v(5, 1), Activation: 2, Registration: 1, Size: 7}})
		s.step(Input{Kind: DispatchDelivered, Dispatch: &wire.Dispatch{Kind: wire.Register, Zone: "rack", From: testID(2), Version: v(5, 1), Registration: 1, Size: 7}})
		for i := 1; i <= 2; i++ {
			u := &wire.Dispatch{Kind: wire.Unregister, Zone: "rack", From: testID(i), Version: v(5, 1)}
			if moves {
				u.Registration = 1
			}
			s.step(Input{Kind: DispatchDelivered, Dispatch: u})
		}
		if c := s.m.Census(); (len(c) == 1) != moves {
			t.Errorf("the delegates move %v: census %+v", moves, c)
		}
	}
}

// TestAlarmOfStrangers: a supervisor passes alarms of its zone's delegates on to the monitors.
// It also accepts alarms that other supervisors pass on, and does not pass these on again. It
// accepts no other alarms (MS-101).
func TestAlarmOfStrangers(t *testing.T) {
	spec.Covers(t, "MS-101")
	s := newSolo(t, 5, Config{Supervisor: true})
	s.alive(1, v(1, 1))
	s.alive(2, v(1, 1))
	s.m.attributes.monitors = []wire.Ref{s.ref[1], s.ref[2]}
	s.step(Input{Kind: DispatchDelivered, Dispatch: &wire.Dispatch{Kind: wire.Register, Zone: "rack", From: testID(8), Version: v(3, 1), Activation: 1}})
	for _, from := range []struct{ id, told, passed int }{{9, 0, 0}, {2, 1, 0}, {8, 1, 2}} {
		s.step(Input{Kind: DispatchDelivered, Dispatch: &wire.Dispatch{Kind: wire.Alarm, Zone: "rack", From: testID(from.id), Version: v(3, 1), About: testID(7), AboutVersion: v(1, 1), Reporters: 1}})
		if len(s.out.Events) != from.told || len(s.out.Dispatches) != from.passed {
			t.Errorf("an alarm of node %d: told %d times, passed on %d times", from.id, len(s.out.Events), len(s.out.Dispatches))
		}
	}
	if s.m.stats.StrayDispatches != 1 {
		t.Errorf("%d strays", s.m.stats.StrayDispatches)
	}
}

// TestStrangeSupervisors: only answers of the chosen supervisor are accepted (MS-A24).
func TestStrangeSupervisors(t *testing.T) {
	spec.Covers(t, "MS-A24")
	base := newSolo(t, 1, Config{Management: []wire.ID{testID(1), testID(2)}})
	base.pass(10 * base.m.cfg.Aggregation)
	d := base.m.delegate
	if !d.chosen.IsValid() {
		t.Fatal("no supervisor")
	}
	other := testID(1)
	if d.chosen == other {
		other = testID(2)
	}
	registered := func(from wire.ID) {
		base.step(Input{Kind: DispatchDelivered, Dispatch: &wire.Dispatch{
			Kind: wire.Registered, Zone: "test", From: from, Version: v(3, 1), Known: 9, Activation: maxActivation - 1, Joined: []wire.Named{{ID: testID(7), Version: v(3, 1)}},
		}})
	}
	registered(other)
	if len(d.supervisors) != 2 || d.own != 1 || base.m.stats.StrayDispatches != 1 {
		t.Errorf("%d supervisors, activation %d", len(d.supervisors), d.own)
	}
	registered(d.chosen)
	if d.known != 9 || d.own >= maxActivation {
		t.Errorf("supervisors %v, activation %d", d.supervisors, d.own)
	}
}
