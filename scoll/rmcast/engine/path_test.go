package engine

import (
	"slices"
	"testing"
	"time"

	"ulnet/lnd/sim"
	"ulnet/scoll/rmcast/wire"
)

// TestBrokenPath: the acknowledgements of a member do not reach its parent, while the manager hears both. No timeout
// ends the wait of senders, as docs/multicast.md says. The status of the origin names the edge of the tree that
// blocks, and an administrator who expels the member ends the wait.
func TestBrokenPath(t *testing.T) {
	w := parted(t, 4, 1)
	w.loss = func(from, to sim.NodeID, p *packet) bool { return from == 1 && to == 3 && p.kind != Instructed }
	s := w.send(3, "x")
	w.run(5 * time.Minute)
	child := w.hosts[1].m.self
	status := w.hosts[3].m.Status()
	i := slices.IndexFunc(status.Streams, func(st StreamStatus) bool { return st.Origin == w.hosts[3].m.self })
	if s.done || i < 0 || !slices.ContainsFunc(status.Streams[i].Waits, func(e Wait) bool { return e.Child.ID == child }) {
		t.Fatalf("done %v, %v, %+v", s.done, s.lost, status.Streams)
	}
	w.net.Command(0, "expel 1")
	if w.await(s); s.lost != nil || !slices.Equal(s.failed, []wire.ID{child}) {
		t.Errorf("%v, failed %v", s.lost, s.failed)
	}
}
