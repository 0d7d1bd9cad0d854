package rmcast

import (
	"testing"
	"time"

	"ulnet/lnd/sim"
)

// TestHearsay: RM-2: what members say of another's messages is the origin's to know:
// neither does it believe that it has sent more, nor others that more is released.
func TestHearsay(t *testing.T) {
	w, _ := tallied(t, 5, nil, nil)
	w.await(w.send(0, "x"))
	root, h := w.hosts[0], w.hosts[3]
	s := h.m.group.byID[root.m.self].stream
	said := s.entry(Stable, s.stable, 50)
	deliver(w, root, Control, 3, AppendControl(nil, testGroup, Version{}, []Entry{said}))
	if p := &root.m.sender; p.stream.head != p.sent {
		t.Errorf("the origin has sent %d, and believes %d", p.sent, p.stream.head)
	}
	d := Datagram{
		Group: testGroup, Flags: FlagRepair, Version: s.roster.version, Origin: s.number(), Length: 4, Seq: s.head, Count: 1, Size: 4,
		Stable: s.head + 30, First: s.first,
	}
	deliver(w, h, Arrival, 2, append(d.AppendBinary(nil), "evil"...))
	if s.lost || s.stable > d.Seq {
		t.Errorf("another member has it give messages up: stable %d, head %d", s.stable, s.head)
	}
}

// TestFullGroup: a group has no more members than its lists have room for, and goes on
// without the others; there is room again when one leaves.
func TestFullGroup(t *testing.T) {
	w := newWorld(t, 5, func(w *world, _ *sim.Config[*packet]) { w.manager.Members = 3 })
	for id := range sim.NodeID(5) {
		w.net.Command(id, "join")
		w.run(time.Second)
	}
	g := w.hosts[0].g
	if len(g.latest.Members) != 3 || g.stats.Full == 0 || g.usable != g.version {
		t.Fatalf("%d members, %+v", len(g.latest.Members), g.stats)
	}
	w.await(w.send(0, "x"))
	w.net.Command(1, "leave")
	w.run(5 * time.Second)
	if len(g.latest.Members) != 3 || g.find(w.hosts[1].m.self) != nil {
		t.Errorf("%v", g.latest.Members)
	}
}

// TestInventedEpoch: RM-A9: a manager goes above the epochs that it hears of, but never
// so far that there is no higher one.
func TestInventedEpoch(t *testing.T) {
	w, _ := tallied(t, 3, nil, nil)
	g := w.hosts[0].g
	for _, epoch := range []uint64{^uint64(0), maxEpoch, maxEpoch - 1, maxEpoch} {
		o := Order{Kind: OrderReport, Group: testGroup, Epoch: epoch, Life: 1}
		before := g.stats.Malformed
		var out sim.Output[*packet]
		w.hosts[0].wakeG = w.hosts[0].step(w.net.Now(), g.Step, Input{Kind: Instructed, From: hostNID(77), Data: o.AppendBinary(nil)}, &out)
		if refused := g.stats.Malformed > before; refused != (epoch >= maxEpoch) {
			t.Errorf("epoch %x: refused %v", epoch, refused)
		}
	}
	w.hosts[0].g.Step(w.net.Now()+10*time.Second, Input{}, &Output{})
	if g.role != active || g.epoch != maxEpoch {
		t.Errorf("%v, epoch %x", g.role, g.epoch)
	}
}
