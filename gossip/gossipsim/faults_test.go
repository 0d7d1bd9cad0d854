package gossipsim

import (
	"testing"
	"time"

	"ulnet/gossip"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
)

// act is something that happens to nodes or links at a given time.
type act struct {
	at time.Duration
	do func(*faults)
}

func killed(first, last sim.NodeID) func(*faults) {
	return func(t *faults) {
		for id := first; id <= last; id++ {
			t.end(id)
		}
	}
}

func parted(set sim.NodeSet) func(*faults) {
	return func(t *faults) { t.links.partition([]sim.NodeSet{set}, t.clock()) }
}

func severed(from, to sim.NodeID) func(*faults) {
	return func(t *faults) { t.links.cut(sim.Nodes(from), sim.Nodes(to), t.clock()) }
}

func healed(t *faults) { t.links.heal(t.clock()) }

// TestExcuses checks which faults excuse a node that considers another one dead although that one is
// fine (docs/gossip.md, "When a node counts as dead"). There are ten nodes, and a death is noticed
// within 5 s.
func TestExcuses(t *testing.T) {
	const grace = 5 * time.Second
	large := sim.Nodes(3, 4, 5, 6, 7, 8, 9) // the larger part of a partition; nodes 0, 1 and 2 are the smaller part
	for _, row := range []struct {
		name              string
		acts              []act
		at                time.Duration
		observer, subject sim.NodeID
		excused, few      bool
	}{
		{"no fault", nil, time.Minute, 0, 9, false, false},
		{"seven of ten fail", []act{{time.Minute, killed(0, 6)}}, time.Minute + grace/2, 8, 9, false, true},
		{"six of ten fail", []act{{time.Minute, killed(0, 5)}}, time.Minute + grace/2, 8, 9, false, false},
		{"seven of ten failed, and that was noticed", []act{{time.Minute, killed(0, 6)}}, time.Minute + grace, 8, 9, false, false},
		{"seven failed long ago, then one more", []act{{10 * time.Second, killed(0, 6)}, {time.Minute, killed(7, 7)}}, time.Minute + grace/2, 8, 9, false, false},
		{"four failed, and that was noticed, then four of six", []act{{10 * time.Second, killed(0, 3)}, {time.Minute, killed(4, 7)}}, time.Minute + grace/2, 8, 9, false, true},
		{"four failed, and that was noticed, then three of six", []act{{10 * time.Second, killed(0, 3)}, {time.Minute, killed(4, 6)}}, time.Minute + grace/2, 8, 9, false, false},
		{"four fail, and three more before that is noticed", []act{{time.Minute, killed(0, 3)}, {time.Minute + grace/2, killed(4, 6)}}, time.Minute + 5*grace/4, 8, 9, false, true},
		{"seven are cut off, two of three are left", []act{{time.Minute, parted(large)}}, time.Minute + grace/2, 0, 1, false, true},
		{"one link was cut in one direction for long", []act{{5 * time.Second, severed(1, 2)}, {time.Minute, healed}}, time.Minute + grace/2, 3, 4, false, false},
		{"the nodes of that link", []act{{5 * time.Second, severed(1, 2)}, {time.Minute, healed}}, time.Minute + 3*grace/2, 2, 1, false, false},
		{"parts that were apart for long", []act{{5 * time.Second, parted(large)}, {time.Minute, healed}}, time.Minute + grace/2, 3, 0, true, false},
		{"within the larger part", []act{{5 * time.Second, parted(large)}, {time.Minute, healed}}, time.Minute + grace/2, 3, 4, false, false},
		{"within the smaller part", []act{{5 * time.Second, parted(large)}, {time.Minute, healed}}, time.Minute + grace/2, 0, 1, true, false},
		{"within the smaller part, later", []act{{5 * time.Second, parted(large)}, {time.Minute, healed}}, time.Minute + grace, 0, 1, false, false},
		{"a short partition while one link was cut for long", []act{
			{5 * time.Second, severed(8, 9)}, {time.Minute, parted(large)}, {time.Minute + time.Second, healed},
		}, time.Minute + 2*time.Second, 0, 1, false, true},
	} {
		now := time.Duration(0)
		var f faults
		f.init(10, grace, func() time.Duration { return now })
		for id := range sim.NodeID(10) {
			f.start(id, false)
		}
		for _, a := range row.acts {
			now = a.at
			a.do(&f)
		}
		now = row.at
		if excused, few := f.excused(row.observer, row.subject), f.few(row.observer); excused != row.excused || few != row.few {
			t.Errorf("%s: excused %v, few %v; want %v, %v", row.name, excused, few, row.excused, row.few)
		}
	}
}

// sleeper is a node that considers all others alive, whatever happens.
type sleeper struct{ incarnation }

func (s sleeper) view() view {
	v := s.incarnation.view()
	v.alive = []byte{0xFF}
	return v
}

// TestSleeperDetects: a node that was paused while another one died must notice the death. It has as
// many cycles for that, from the end of its pause on, as other nodes have from the death on.
func TestSleeperDetects(t *testing.T) {
	const cycles = 30
	n, err := New(Config{Network: scenario.Network{Nodes: 5, Seed: 1}, Gossip: gossip.Config{ColdStart: true, Interval: 200 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		until time.Duration
		then  func()
		holds bool
	}{
		{10 * time.Second, func() { n.Pause(1) }, true},
		{11 * time.Second, func() { n.Kill(4) }, true},
		{30 * time.Second, func() { n.Resume(1); n.incarnations[1] = sleeper{n.incarnations[1]} }, true},
		{30*time.Second + n.Cycles(cycles) - time.Millisecond, func() {}, true},
		{30*time.Second + n.Cycles(cycles), func() {}, false},
	} {
		if err := n.Run(step.until); err != nil {
			t.Fatal(err)
		}
		step.then()
		if ok, why := n.detectedWithin(cycles); ok != step.holds {
			t.Errorf("at %v: %v, %s", step.until, ok, why)
		}
	}
}
