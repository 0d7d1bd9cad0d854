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
		{"within a half, while some of the other half do not run", []act{{time.Second, killed(7, 9)}, {5 * time.Second, parted(sim.Nodes(5, 6, 7, 8, 9))}, {time.Minute, healed}}, time.Minute + grace/2, 0, 1, true, false},
		{"within four of ten, while more of the six do not run", []act{{time.Second, killed(7, 9)}, {5 * time.Second, parted(sim.Nodes(6, 7, 8, 9))}, {time.Minute, healed}}, time.Minute + grace/2, 0, 1, false, false},
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
		if excused, few := f.excused(row.observer, row.subject), f.few(row.observer, row.subject); excused != row.excused || few != row.few {
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

// TestFewOnce: when most nodes fail at once, each of the others may count as dead once for each observer, until the
// deaths are noticed, and once more when most of the rest fail.
func TestFewOnce(t *testing.T) {
	now := time.Duration(0)
	var f faults
	f.init(20, 5*time.Second, func() time.Duration { return now })
	for id := range sim.NodeID(20) {
		f.start(id, false)
	}
	for _, step := range []struct {
		at                time.Duration
		then              func(*faults)
		observer, subject sim.NodeID
		few               bool
	}{
		{time.Minute, killed(0, 13), 18, 19, true},
		{time.Minute + time.Second, func(*faults) {}, 18, 19, false},
		{time.Minute + 2*time.Second, func(*faults) {}, 18, 17, true},
		{time.Minute + 3*time.Second, func(*faults) {}, 17, 19, true},
		{2 * time.Minute, killed(14, 17), 18, 19, true},
	} {
		now = step.at
		step.then(&f)
		if few := f.few(step.observer, step.subject); few != step.few {
			t.Errorf("at %v: node %v may consider node %v dead: %v", now, step.observer, step.subject, few)
		}
	}
}

// TestOldNews: a return is wrong if the news of the node is older than a detection takes. So it is if for that long
// the node has been down, still silent after its restart, or paused, or no path has led from it to the observer, not
// even over others that pass old news on.
func TestOldNews(t *testing.T) {
	for _, row := range []struct {
		name  string
		fault func(n *Net)
		wrong bool
	}{
		{"no fault", func(*Net) {}, false},
		{"killed", func(n *Net) { n.Kill(4) }, true},
		{"killed and restarted just now", func(n *Net) { n.Kill(4); n.At(30*time.Second, func() { n.Start(4, false) }) }, true},
		{"killed, restarted, and heard again", func(n *Net) { n.Kill(4); n.At(20*time.Second, func() { n.Start(4, false) }) }, false},
		{"paused", func(n *Net) { n.Pause(4) }, true},
		{"paused, and just resumed", func(n *Net) { n.Pause(4); n.At(30*time.Second, func() { n.Resume(4) }) }, false},
		{"cut off", func(n *Net) { n.Partition(sim.Nodes(4)) }, true},
		{"cut off from the observer alone", func(n *Net) { n.Cut(sim.Nodes(4), sim.Nodes(0)) }, false},
		{"cut off and just healed", func(n *Net) { n.Partition(sim.Nodes(4)); n.At(30*time.Second, n.Heal) }, false},
	} {
		n, err := New(Config{Network: scenario.Network{Nodes: 5, Seed: 1}, Gossip: gossip.Config{ColdStart: true, Interval: 200 * time.Millisecond}})
		if err == nil {
			err = n.Run(10 * time.Second)
		}
		if err == nil {
			row.fault(n)
			err = n.Run(30*time.Second + time.Millisecond)
		}
		if err != nil {
			t.Fatal(err)
		}
		before := n.Outcome().Resurrections
		n.joined(n.Now(), 0, 4)
		if wrong := n.Outcome().Resurrections > before; wrong != row.wrong || before > 0 {
			t.Errorf("%s: the return is wrong: %v, want %v; wrong returns before: %d", row.name, wrong, row.wrong, before)
		}
	}
}
