package engine

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/scoll/rmcast/wire"
)

// managed3 makes a group of n nodes, three of which are managers.
func managed3(t *testing.T, n int) *world {
	t.Helper()
	w := newWorld(t, n, func(w *world, _ *sim.Config[*packet]) { w.managers = 3 })
	w.form(n)
	w.run(time.Second)
	return w
}

// activeManagers lists the nodes whose manager is active.
func (w *world) activeManagers() (ids []sim.NodeID) {
	for _, h := range w.hosts {
		if h.g != nil && h.g.role == active && w.net.Up(h.id) {
			ids = append(ids, h.id)
		}
	}
	return ids
}

// TestManagerDies: RM-A18: the manager dies. The next one collects what members know, and the
// group continues, also with the messages that were in flight.
func TestManagerDies(t *testing.T) {
	spec.Covers(t, "RM-A9", "RM-A18")
	w := managed3(t, 6)
	if ids := w.activeManagers(); len(ids) != 1 || ids[0] != 0 {
		t.Fatalf("%v manage", ids)
	}
	before := w.hosts[0].m.self
	w.net.Crash(0)
	s := w.send(4, "x")
	w.run(20 * time.Millisecond)
	w.net.Command(1, "dead 0")
	w.net.Command(2, "dead 0")
	w.await(s)
	w.run(2 * time.Second)
	if ids := w.activeManagers(); len(ids) != 1 || ids[0] != 1 {
		t.Errorf("%v manage", ids)
	}
	if len(s.failed) != 1 || s.failed[0] != before {
		t.Errorf("failed: %v", s.failed)
	}
	g := w.hosts[1].g
	if g.epoch <= 1000 || len(g.members) != 5 {
		t.Errorf("epoch %d, %d members", g.epoch, len(g.members))
	}
	w.await(w.send(2, "after"))
	w.want("after", 1, 2, 3, 4, 5)
	// RM-A9: the next manager continues the communication numbers.
	w.net.Start(0, false)
	w.net.Command(0, "join")
	w.run(3 * time.Second)
	if st := w.hosts[0].m.Status(); st.State != "member" || st.Number != 7 {
		t.Errorf("%+v", st)
	}
	if ids := w.activeManagers(); len(ids) != 1 || ids[0] != 1 {
		t.Errorf("%v manage after the first is back", ids)
	}
}

// TestManagerRestarts: RM-A9: the only manager restarts without memory, asks its members, and
// takes a higher epoch.
func TestManagerRestarts(t *testing.T) {
	spec.Covers(t, "RM-A9")
	w := newWorld(t, 5, nil)
	w.form(5)
	w.run(time.Second)
	w.net.Kill(0)
	s := w.send(2, "x")
	w.run(50 * time.Millisecond)
	w.net.Start(0, false)
	w.run(time.Second)
	w.net.Command(0, "join")
	w.await(s)
	w.run(3 * time.Second)
	if g := w.hosts[0].g; g.epoch != 2000 || len(g.members) != 5 || g.stats.Collections == 0 {
		t.Errorf("epoch %d, %d members, %+v", g.epoch, len(g.members), g.stats)
	}
	w.await(w.send(3, "y"))
	w.want("y", w.all()...)
}

// TestTwoManagers: RM-A9: a manager that was cut off does not know of its successor. Members
// refuse its lists, and it resigns when it learns of the refusal.
func TestTwoManagers(t *testing.T) {
	spec.Covers(t, "RM-A9")
	w := managed3(t, 6)
	w.net.Cut(sim.Nodes(0), sim.AllNodes)
	w.net.Cut(sim.AllNodes, sim.Nodes(0))
	w.run(10 * time.Second)
	if ids := w.activeManagers(); len(ids) != 2 || ids[1] != 1 {
		t.Fatalf("%v manage", ids)
	}
	usable := w.hosts[3].m.usable
	if usable.Epoch <= 1000 {
		t.Fatalf("the others use %v", usable)
	}
	w.net.Heal()
	w.run(5 * time.Second)
	if ids := w.activeManagers(); len(ids) != 1 || ids[0] != 1 || w.hosts[1].g.epoch != usable.Epoch {
		t.Errorf("%v manage, epoch %d, was %d", ids, w.hosts[1].g.epoch, usable.Epoch)
	}
	if h := w.hosts[0]; len(h.gone) == 0 {
		t.Error("the member that was cut off was not expelled")
	}
	w.net.Command(0, "join")
	w.run(3 * time.Second)
	w.await(w.send(0, "again"))
	w.want("again", w.all()...)
}

// TestLowerEpoch: RM-A9: a list of an earlier manager, or of another one of the same epoch, is refused. The answer
// names an epoch above that of the list, so that its sender resigns.
func TestLowerEpoch(t *testing.T) {
	spec.Covers(t, "RM-A9")
	w := managed3(t, 4)
	h := w.hosts[3]
	latest := h.m.group.latest().version
	o := w.hosts[0].g.published()
	o.Incarnation = h.m.self.Incarnation
	for _, tt := range []struct {
		epoch   uint64
		from    sim.NodeID
		refused bool
	}{{latest.Epoch - 1, 0, true}, {latest.Epoch, 1, true}, {latest.Epoch, 0, false}} {
		before := h.m.stats.Refused
		o.Epoch, o.Version = tt.epoch, wire.Version{Epoch: tt.epoch, Counter: latest.Counter + 5}
		var out Output
		h.m.Step(w.net.Now(), Input{Kind: Instructed, From: hostNID(tt.from), Data: o.AppendTo(nil)}, &out)
		if got := h.m.stats.Refused > before; got != tt.refused {
			t.Errorf("%+v: refused %v", tt, got)
		}
		if taken := h.m.group.latest().version == o.Version; taken == tt.refused {
			t.Errorf("%+v: taken %v", tt, taken)
		}
		reply, err := wire.ParseOrder(out.Buf)
		if tt.refused && (err != nil || reply.Epoch != max(latest.Epoch, tt.epoch+1) || out.Effects[0].To != hostNID(tt.from)) {
			t.Errorf("%+v: it answers %+v, %v", tt, reply, err)
		}
	}
}

// TestUsable: RM-A9: no member sends under a version before all live members have its list.
func TestUsable(t *testing.T) {
	spec.Covers(t, "RM-A9")
	w, _ := tallied(t, 5, nil, nil)
	w.net.Pause(3)
	w.net.Command(4, "leave")
	w.run(300 * time.Millisecond)
	g := w.hosts[0].g
	if g.usable == g.version {
		t.Fatal("one has not answered")
	}
	s := w.send(1, "x")
	w.run(50 * time.Millisecond)
	if v := w.hosts[1].m.sender.stream.roster.version; v != g.usable || s.done {
		t.Errorf("sent under %v, usable is %v", v, g.usable)
	}
	w.net.Resume(3)
	w.await(s)
	w.run(time.Second)
	if v := w.hosts[1].m.sender.stream.roster.version; v != g.version || g.usable != g.version {
		t.Errorf("sends under %v, usable is %v", v, g.usable)
	}
}

// TestListWithoutUs: a list without a member means that the member was expelled.
func TestListWithoutUs(t *testing.T) {
	w, _ := tallied(t, 4, nil, nil)
	o := w.hosts[0].g.published()
	o.Incarnation, o.Version = w.hosts[2].m.self.Incarnation, wire.Version{Epoch: o.Epoch, Counter: o.Version.Counter + 1}
	o.Members = o.Members[:2]
	var effects Output
	w.hosts[2].m.Step(w.net.Now(), Input{Kind: Instructed, From: hostNID(0), Data: o.AppendTo(nil)}, &effects)
	if w.hosts[2].m.state != out {
		t.Errorf("it is still a %v", w.hosts[2].m.state)
	}
}
