package engine

import (
	"fmt"
	"math/bits"
	"testing"
	"time"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/scoll/rmcast/wire"
)

// TestSingle: RM-1, RM-2, RM-4, RM-5, RM-8, RM-10, RM-13, RM-32 and RM-A1, for any number of
// members and any of them as origin. A message takes one multicast datagram and N-1
// acknowledgements, few of which reach the origin. It is released when all members have
// delivered it.
func TestSingle(t *testing.T) {
	spec.Covers(t, "RM-1", "RM-2", "RM-4", "RM-5", "RM-8", "RM-10", "RM-13", "RM-32", "RM-A1")
	for n := 1; n <= 33; n += effort.Of(4, 4, 1) {
		datagrams, acks, toOrigin := 0, 0, 0
		var origin sim.NodeID
		w := newWorld(t, n, func(w *world, _ *sim.Config[*packet]) {
			w.tap = func(from, to sim.NodeID, p *packet) {
				if p.cast {
					if d, _, _ := wire.ParseDatagram(p.data); d.Count > 0 {
						datagrams++
					}
				}
				if has(p, wire.Ack) {
					acks++
					if to == origin {
						toOrigin++
					}
				}
			}
		})
		w.form(n)
		for origin = range sim.NodeID(n) {
			datagrams, acks, toOrigin = 0, 0, 0
			text := fmt.Sprint("from ", origin)
			w.onRelease = func(*host, *sent) { w.want(text, w.all()...) }
			s := w.send(origin, text)
			w.await(s)
			if s.lost != nil || len(s.failed) > 0 {
				t.Fatalf("n %d: %+v", n, s)
			}
			w.run(100 * time.Millisecond)
			if datagrams != n-1 || acks != n-1 || toOrigin > bits.Len(uint(n-1)) {
				t.Errorf("n %d, origin %d: %d datagrams, %d acknowledgements, %d of them to the origin", n, origin, datagrams, acks, toOrigin)
			}
			w.want(text, w.all()...)
		}
		for _, h := range w.hosts {
			if st := h.m.stats; st.Repairs+st.Fetches+st.Polls+st.Duplicates+st.LeftOut > 0 {
				t.Errorf("n %d: node %d: %+v", n, h.id, st)
			}
		}
	}
}
