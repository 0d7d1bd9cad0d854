package scollsim

import (
	"strings"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/history"
	"ulnet/lnd/sim/scenario"
	"ulnet/scoll"
)

// books returns a finished broadcast of node 1 to five nodes.
func books(answered []sim.NodeID, missing ...sim.NodeID) *Broadcast {
	b := &Broadcast{
		Number: 1, Group: "g", Outcome: Ended, Answered: answered, Members: []sim.NodeID{0, 1, 2, 3, 4},
		ran: make([]run, 6),
	}
	for _, id := range missing {
		b.Missing = append(b.Missing, Missing{id, scoll.ETIMEDOUT})
	}
	return b
}

// TestExact: the check finds every way in which a result can be wrong.
func TestExact(t *testing.T) {
	tests := []struct {
		name string
		b    *Broadcast
		want string // part of the expected error; empty: no error
	}{
		{"all answered", books([]sim.NodeID{1, 2, 3, 4}), ""},
		{"one missing", books([]sim.NodeID{1, 2, 4}, 3), ""},
		{"one forgotten", books([]sim.NodeID{1, 2, 4}), "no answer of node 4 came"},
		{"forgotten below one that is missing", books([]sim.NodeID{1, 4}, 2), "no answer of node 4 came"},
		{"one twice", books([]sim.NodeID{1, 2, 3, 3, 4}), "node 4 is answered twice"},
		{"answered and missing", books([]sim.NodeID{1, 2, 3, 4}, 3), "node 4 is missing twice, or answered and missing"},
		{"missing twice", books([]sim.NodeID{1, 2, 4}, 3, 3), "node 4 is missing twice"},
		{"a stranger", books([]sim.NodeID{1, 2, 3, 4}, 5), "node 6 is no member"},
		{"the root itself", books([]sim.NodeID{1, 2, 3, 4}, 0), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.b.isExact()
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestOnce: the check finds an incarnation that runs a broadcast twice, and a node that answers
// without having run it. A second incarnation of a node may run it.
func TestOnce(t *testing.T) {
	n := prepare(Config{Network: scenario.Network{Nodes: 6}})
	n.ledger.list = append(n.ledger.list, books([]sim.NodeID{1, 2, 3, 4}))
	if err := n.Once(); err == nil || !strings.Contains(err.Error(), "has not run it") {
		t.Errorf("nobody has run it: %v", err)
	}
	for id := range sim.NodeID(6) {
		n.ledger.ran(1, sim.Incarnation{Node: id})
	}
	n.ledger.ran(1, sim.Incarnation{Node: 3, Number: 1})
	if err := n.Once(); err != nil {
		t.Error(err)
	}
	n.ledger.ran(1, sim.Incarnation{Node: 3, Number: 1})
	if err := n.Once(); err == nil || !strings.Contains(err.Error(), "node 4 ran broadcast 1") {
		t.Errorf("twice in one life: %v", err)
	}
}

// TestIdleIfBusy: the check finds a member that has run a broadcast although the root reports
// it as busy, for each limit that the member may have reached.
func TestIdleIfBusy(t *testing.T) {
	for _, s := range []scoll.Status{scoll.EBUSY, scoll.EMAXACTIVE, scoll.EMAXGROUPS, scoll.EMAXLISTS, scoll.ETIMEDOUT} {
		n := prepare(Config{Network: scenario.Network{Nodes: 6}})
		b := books([]sim.NodeID{1, 2, 4}, 3)
		b.Missing[0].Status = s
		n.ledger.list = append(n.ledger.list, b)
		if err := n.idleIfBusy(); err != nil {
			t.Errorf("%v, not run: %v", s, err)
		}
		n.ledger.ran(1, sim.Incarnation{Node: 3})
		if err := n.idleIfBusy(); (err == nil) != (s == scoll.ETIMEDOUT) {
			t.Errorf("%v, run: %v", s, err)
		}
	}
}

// TestInTime: the check finds a broadcast that takes too long, unless the root was disturbed.
func TestInTime(t *testing.T) {
	n := prepare(Config{Network: scenario.Network{Nodes: 6}})
	b := books(nil)
	n.ledger.list = append(n.ledger.list, b)
	b.Limit, b.Done = time.Second, time.Second
	if err := n.inTime(); err != nil {
		t.Error(err)
	}
	b.Done++
	if err := n.inTime(); err == nil {
		t.Error("a late result was in time")
	}
	if n.ledger.excuse(b.Root); n.inTime() == nil {
		t.Error("a pause after a late result excuses it")
	}
	b.Outcome, b.Departed = UnderWay, -b.Done
	if n.ledger.excuse(b.Root); n.inTime() == nil {
		t.Error("a pause excuses a broadcast that was late before")
	}
	b.Departed++
	n.ledger.excuse(b.Root)
	b.Departed--
	if err := n.inTime(); err != nil {
		t.Errorf("paused while under way: %v", err)
	}
}

// TestDeparture: if members have few slots, the time of a broadcast begins when its root runs it, because it may have
// to wait for that, and members may hold it: on each level below the root for the time that docs/collectives.md says.
func TestDeparture(t *testing.T) {
	for _, slots := range []int{0, 3} {
		n := prepare(Config{Network: scenario.Network{Nodes: 6}, Scoll: scoll.Config{MaxActive: slots, RTT: 10 * time.Millisecond}})
		b := n.ledger.begin(0, scenario.Args{"g", modeAll})
		n.sent(b, []sim.NodeID{0, 1, 2, 3, 4})
		const timeouts = 75 * time.Millisecond // T(3), see docs/collectives.md
		switch held := b.Limit - timeouts; {
		case slots == 0 && (held != 0 || b.Departed != 0):
			t.Errorf("departed at %v, held %v", b.Departed, held)
		case slots > 0 && (held != 2*(5*time.Second+10*time.Millisecond) || b.isLate(time.Hour)):
			t.Errorf("waits for an hour, held %v", held)
		}
		if n.ledger.ran(b.Number, sim.Incarnation{Node: 1}); slots > 0 && b.isLate(time.Hour) {
			t.Error("the time begins when a member runs the broadcast")
		}
		if n.ledger.ran(b.Number, sim.Incarnation{Node: 0}); !b.isLate(time.Hour) || b.isLate(b.Limit) || !b.isLate(b.Limit+1) {
			t.Errorf("%d slots: is late, or is not", slots)
		}
	}
}

// TestSlowFromBefore: a root that was slow or skewed when its broadcast began is excused.
func TestSlowFromBefore(t *testing.T) {
	for _, act := range []sim.Act{{Verb: sim.Slow, Extra: time.Millisecond}, {Verb: sim.Skew, PPM: -100}} {
		n := prepare(Config{Network: scenario.Network{Nodes: 6}})
		n.faults.happens(&act)
		if b := n.ledger.begin(0, scenario.Args{"g"}); !b.excused {
			t.Errorf("%v: not excused", act.Verb)
		}
		act.Extra, act.PPM = 0, 0
		n.faults.happens(&act)
		if b := n.ledger.begin(0, scenario.Args{"g"}); b.excused {
			t.Errorf("%v: excused for ever", act.Verb)
		}
	}
}

// TestSentLate: the check finds a broadcast that is sent over a group although it has ended at all members.
func TestSentLate(t *testing.T) {
	for _, ended := range []bool{false, true} {
		n := prepare(Config{Network: scenario.Network{Nodes: 6}})
		n.groups.byName["g"] = &namedGroup{ending: true, ended: ended}
		n.sent(n.ledger.begin(0, scenario.Args{"g", modeAll}), []sim.NodeID{0, 1})
		if (n.ledger.unfounded != nil) != ended {
			t.Errorf("ended %v: %v", ended, n.ledger.unfounded)
		}
	}
}

// TestHistory: the checkers of histories find a member that answers without having run the broadcast, and an
// incarnation that has run it twice. Each incarnation of a member may run it once.
func TestHistory(t *testing.T) {
	for _, test := range []struct {
		runs []uint64 // incarnations of node 3 that run the broadcast
		want string   // part of what is wrong; empty: nothing is
	}{{[]uint64{0}, ""}, {nil, "not told"}, {[]uint64{0, 0}, "2 times"}, {[]uint64{0, 1}, ""}, {[]uint64{0, 0, 1}, "2 times"}, {[]uint64{0, 1, 1}, "2 times"}} {
		n := prepare(Config{Network: scenario.Network{Nodes: 6}})
		n.Log = history.New()
		b := books([]sim.NodeID{1, 2, 4}, 3)
		n.ledger.list = append(n.ledger.list, b)
		for id := range sim.NodeID(6) {
			n.Log.Append(history.Record{Node: id, Kind: history.Start})
			if id != 2 {
				n.ledger.ran(b.Number, sim.Incarnation{Node: id})
			}
		}
		for _, number := range test.runs {
			n.ledger.ran(b.Number, sim.Incarnation{Node: 2, Number: number})
		}
		n.ledger.log(b.Root, history.Send, b.Root, b)
		n.ledger.logDone(b)
		if ok, why := n.history(nil); ok != (test.want == "") || !strings.Contains(why, test.want) {
			t.Errorf("incarnations %v of node 3 have run it: %q", test.runs, why)
		}
	}
}

// TestRoster: the check finds a broadcast that leaves a live member out.
func TestRoster(t *testing.T) {
	n := prepare(Config{Network: scenario.Network{Nodes: 6}, Discovery: time.Second})
	g, err := n.groups.add(scenario.Args{"g", kindOOB})
	if err != nil {
		t.Fatal(err)
	}
	p := &program{net: n, id: 0, news: map[sim.NodeID]bool{3: false, 4: true}}
	b := &Broadcast{Group: "g", whole: g.members, order: order{mode: modeLive}}
	live, err := n.groups.membership("1-3,5-6")
	if err != nil {
		t.Fatal(err)
	}
	if p.roster(b, live); n.Exact() != nil {
		t.Error(n.Exact())
	}
	few, err := n.groups.membership("1-3,5")
	if err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []*scoll.Membership{g.members, few} {
		if n.ledger.roster = nil; p.roster(b, wrong) == nil || n.Exact() == nil {
			t.Error("a dead member, or a live one that is left out, was not found")
		}
	}
}

// TestOracle: SC-158: all nodes learn of a death before the node's return, and of the return
// only after all have learned of the death.
func TestOracle(t *testing.T) {
	spec.Covers(t, "SC-158")
	const delay = 100 * time.Millisecond
	n, err := New(Config{Network: scenario.Network{Nodes: 20, Topology: &sim.Flat{}}, Discovery: delay})
	if err != nil {
		t.Fatal(err)
	}
	heard := make(map[sim.NodeID][]time.Duration)
	n.At(time.Second, func() { n.Kill(7); n.Control.Start(7, false) })
	n.Observe(func(s sim.Step) {
		if s.Kind == sim.Command {
			heard[s.Node] = append(heard[s.Node], s.At-time.Second)
		}
	})
	if err := n.Run(3 * time.Second); err != nil {
		t.Fatal(err)
	}
	for id := range sim.NodeID(20) {
		list := heard[id]
		if id == 7 {
			if len(list) != 0 {
				t.Errorf("the node itself heard %v", list)
			}
			continue
		}
		if len(list) != 2 || list[0] < delay/2 || list[0] > delay || list[1] < delay*3/2 || list[1] > 2*delay {
			t.Errorf("node %v heard at %v", id, list)
		}
	}
}
