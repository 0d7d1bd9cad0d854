package engine

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/scoll/rmcast/wire"
)

// TestListsKept: RM-A7, RM-40: a member reports that it still sends under the oldest list, while the group changes all the
// time. It is left behind, so that the others can drop the lists, and the manager has room for further nodes.
func TestListsKept(t *testing.T) {
	spec.Covers(t, "RM-A7", "RM-40")
	const liar = 3
	w := parted(t, 5, 1)
	w.tap = func(from, _ sim.NodeID, p *packet) {
		if o, err := wire.ParseOrder(p.data); from == liar && p.kind == Instructed && err == nil {
			o.Oldest = wire.Version{}
			p.data = o.AppendTo(nil)
		}
	}
	g, m := w.hosts[0].g, w.hosts[1].m
	most, began := 0, g.stats.Lists
	for g.stats.Lists < began+400 {
		w.restart(2)
		w.run(200 * time.Millisecond)
		most = max(most, len(m.group.rosters), len(g.departed))
	}
	if g.stats.Silent == 0 || most > 2*maxKept {
		t.Errorf("up to %d lists and departed members are kept, %d members left behind", most, g.stats.Silent)
	}
	w.run(5 * time.Second)
	w.await(w.send(0, "x"))
	w.want("x", 0, 1, 2, 4)
}
