package engine

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/scoll/rmcast/wire"
)

// TestJoinedAcks: RM-A24: in the trees of two origins a member has the same parent. It delays an
// acknowledgement for one origin, because others may follow. When it acknowledges a message of
// the other origin, both go in one control message.
func TestJoinedAcks(t *testing.T) {
	spec.Covers(t, "RM-A24", "RM-42")
	w, c := tallied(t, 4, nil, func(w *world, _ *sim.Config[*packet]) { w.manager.Window = 16 })
	var origins [][]uint32 // origins of the acknowledgements in each control message of node 3
	count := w.tap
	w.tap = func(from, to sim.NodeID, p *packet) {
		count(from, to, p)
		if from == 3 && to == 2 && has(p, wire.Ack) {
			var of []uint32
			for _, e := range entries(p) {
				of = append(of, e.Origin)
			}
			origins = append(origins, of)
		}
	}
	number := func(id sim.NodeID) uint32 { return w.hosts[id].m.Status().Number }
	var sent []*sent
	sent = append(sent, w.send(0, "a1"), w.send(0, "a2")) // node 3 delays only the second acknowledgement
	w.run(100 * time.Microsecond)
	sent = append(sent, w.send(2, "b1"), w.send(2, "b2"))
	for _, s := range sent {
		w.await(s)
		w.want(s.data, w.all()...)
	}
	want := [][]uint32{{number(0)}, {number(2), number(0)}, {number(2)}}
	if len(origins) != len(want) {
		t.Fatalf("acknowledgements %v, want %v; %+v", origins, want, c)
	}
	for i := range want {
		if len(origins[i]) != len(want[i]) || origins[i][0] != want[i][0] || origins[i][len(want[i])-1] != want[i][len(want[i])-1] {
			t.Errorf("acknowledgements %v, want %v", origins, want)
		}
	}
	if n := w.hosts[3].m.stats.JoinedAcks; n != 1 || len(w.hosts[3].m.delayed) > 0 {
		t.Errorf("%d joined, %d delayed", n, len(w.hosts[3].m.delayed))
	}
}
