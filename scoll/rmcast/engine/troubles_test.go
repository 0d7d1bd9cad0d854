package engine

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
)

// trouble is a group of n members, and one further node that restarts again and again. Members send, acknowledge
// nothing, lie or die.
type trouble struct {
	n, room int
	senders int    // how many nodes send a message before the restarts
	mute    int    // how many members do not acknowledge: what they send reaches only managers, so the senders' messages wait
	liar    bool   // node 1 reports that it still sends under the oldest list
	dead    string // which nodes die, see deaths; empty: none
	early   bool   // they die before the restarts, otherwise after them
}

// deaths returns the nodes that die. Node 0 manages the group and does not.
func (c trouble) deaths() (ids []sim.NodeID) {
	last, few := 0, 0
	switch c.dead {
	case "sender":
		return []sim.NodeID{1}
	case "mute":
		few = 1
	case "minority":
		few = (c.n - 1) / 2
	case "half":
		few = (c.n + 1) / 2
	}
	for last = c.n - 1; few > 0 && last > 0; few-- {
		ids = append(ids, sim.NodeID(last))
		last--
	}
	return ids
}

// TestTroubles: RM-A7, RM-40, RM-2: members keep old lists in use because others do not acknowledge their messages,
// or because they lie; members die; another node restarts again and again. As long as a majority is heard, the dead and
// those that keep old lists are left behind one after another, all that live are members in the end, and members keep
// few lists. Without a majority nothing changes: a manager that does not hear a majority of the members leaves none
// behind and admits none (docs/multicast.md).
func TestTroubles(t *testing.T) {
	spec.Covers(t, "RM-A7", "RM-40", "RM-2")
	var cases []trouble
	for n := 2; n <= 8; n++ {
		for _, senders := range []int{1, (n + 1) / 2, n} {
			for _, mute := range []int{0, 1, n / 2} {
				for _, dead := range []string{"", "sender", "mute", "minority", "half"} {
					for i, room := range []int{n + 1, n + 3, 200} {
						cases = append(cases, trouble{n: n, room: room, senders: senders, mute: mute, dead: dead, liar: (n+senders+mute+i)%3 == 0, early: (n+senders+i)%2 == 0})
					}
				}
			}
		}
	}
	for i := 0; i < len(cases); i += effort.Of(31, 7, 1) {
		t.Run(fmt.Sprintf("%+v", cases[i]), cases[i].run)
	}
}

func (c trouble) run(t *testing.T) {
	w := newWorld(t, c.n+1, func(w *world, _ *sim.Config[*packet]) {
		w.wall, w.rejoin, w.manager.MemberTimeout, w.manager.Members = testWall, true, 5*time.Second, c.room
	})
	w.onRelease = released(w)
	w.form(c.n + 1)
	w.run(time.Second)
	if c.liar {
		lie(w, 1, 0)
	}
	w.loss = func(from, _ sim.NodeID, p *packet) bool {
		return int(from) < c.n && int(from) >= c.n-c.mute && p.kind != Instructed
	}
	for i := range c.senders {
		w.send(sim.NodeID(c.n-i)%sim.NodeID(c.n), fmt.Sprint("message of ", i))
	}
	most, majority := 0, false
	if c.early {
		majority = c.kill(w)
	}
	for range 80 {
		w.restart(sim.NodeID(c.n))
		w.run(200 * time.Millisecond)
		most = max(most, c.kept(w))
	}
	if !c.early {
		majority = c.kill(w)
	}
	for range 20 {
		w.run(time.Second)
		most = max(most, c.kept(w))
	}
	if most > 2*maxKept+c.n {
		t.Errorf("up to %d lists or departed members are kept", most)
	}
	c.judge(t, w, majority)
}

// kill kills the nodes that die, and reports whether a majority of the electorate lives. Before the restarts (early),
// it does not count the member on the node that restarts: it will end with the restart.
func (c trouble) kill(w *world) bool {
	of, live, dead := 0, 0, c.deaths()
	for _, id := range dead {
		w.net.Kill(id)
	}
	for id := range w.hosts[0].g.base.ids {
		if node := hostID(id.NID); int(node) < c.n || !c.early {
			of++
			if !slices.Contains(dead, node) {
				live++
			}
		}
	}
	return 2*live > of
}

// kept returns the number of lists that a live member keeps, or of departed members that the manager keeps, whichever
// is the largest.
func (c trouble) kept(w *world) (n int) {
	for id, h := range w.hosts {
		if w.net.Up(sim.NodeID(id)) {
			n = max(n, len(h.m.group.rosters))
		}
	}
	return max(n, len(w.hosts[0].g.departed))
}

// judge checks the end of a trouble. With a majority, exactly the nodes that live are members, and no message waits.
// Without a majority, the manager has left no dead node behind.
func (c trouble) judge(t *testing.T, w *world, majority bool) {
	g, dead := w.hosts[0].g, c.deaths()
	if !majority {
		for _, id := range dead {
			if !g.alone || !slices.ContainsFunc(g.members, func(m *managed) bool { return m.NID == hostNID(id) }) {
				t.Errorf("alone %v; node %d is left behind by a minority", g.alone, id)
			}
		}
		return
	}
	if len(g.members) != len(w.hosts)-len(dead) || g.usable != g.version || g.alone {
		t.Errorf("%d members, alone %v, usable %v of %v, %d departed", len(g.members), g.alone, g.usable, g.version, len(g.departed))
	}
	for id, h := range w.hosts {
		if slices.Contains(dead, sim.NodeID(id)) {
			continue
		}
		if h.m.state != member || g.find(h.m.self) == nil {
			t.Errorf("node %d is %v", id, h.m.state)
		}
		for _, s := range h.sent {
			if !s.done {
				t.Errorf("the message of node %d waits", id)
			}
		}
	}
	w.loss = nil
	w.await(w.send(0, "end"))
}

// released checks that each member of the list under which a message was sent has it, or has ended.
func released(w *world) func(*host, *sent) {
	return func(h *host, s *sent) {
		for _, p := range w.lists[s.version] {
			id := hostID(p.id.NID)
			if other := w.hosts[id]; w.net.Up(id) && other.m.self == p.id && !slices.Contains(s.failed, p.id) && other.delivered(s.data) != 1 {
				w.t.Errorf("node %d releases %q, which node %d has delivered %d times", h.id, s.data, id, other.delivered(s.data))
			}
		}
	}
}
