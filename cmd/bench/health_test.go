package main

import (
	"testing"
	"time"

	"ulnet/health"
	"ulnet/health/boltstore"
	healthwire "ulnet/health/wire"
	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
)

// TestCrowds: goal G-CH-5. The clients of the measured master stay connected and no message is
// lost, both with the state machine alone and with a whole node.
func TestCrowds(t *testing.T) {
	spec.Covers(t, "G-CH-5")
	const clients = 300
	order := make([]int, clients)
	for i := range order {
		order[i] = i
	}
	_, err := new(bench).measure(t.Context(), func(b *measurement) {
		m := newCrowd(clients)
		for range 8 { // together the eight rounds last longer than T_evict, after which silent clients would be evicted
			m.pings(order, 5*time.Second)
		}
		if st := m.server.Stats(); st.Pings != 8*clients || st.Sent < 9*clients || st.Evictions != 0 {
			t.Errorf("machine: %+v", st)
		}
		m.idle(20 * time.Second)
		if st := m.server.Status(); st.Mastered != 0 || st.Evicting != clients {
			t.Errorf("no client pings: %+v", st)
		}
		n := newCrowdNode(make([]lnd.Delivery, clients))
		n.pings(order)
		if n.settle(&n.inbound.pongs, clients); n.others.Load() != 0 {
			t.Errorf("node: %d other messages", n.others.Load())
		}
		if st := n.agent.Stats(); st.Pings != clients || st.Malformed+st.Strangers+st.Foreign != 0 {
			t.Errorf("node: %+v", st)
		}
		b.check(n.close(b.ctx))
	})
	if err != nil {
		t.Error(err)
	}
}

// TestAcceptsWait: a master sends each accept after the client's record is durable. The measurement
// counts an accept that is sent before its record is durable.
func TestAcceptsWait(t *testing.T) {
	const clients = 500
	took, elapsed, err := floodOnce(t.TempDir()+"/clients.db", time.Millisecond, 10, clients, func(s *boltstore.Store, first, n int) ([]time.Duration, error) {
		took, early, err := floodMaster(t.Context(), s, first, n)
		if early != 0 {
			t.Errorf("%d early accepts", early)
		}
		return took, err
	})
	if err != nil || len(took) != clients || elapsed < time.Millisecond {
		t.Errorf("%d in %v: %v", len(took), elapsed, err)
	}
	g := &gate{began: map[health.ClientID]time.Time{}, durable: map[health.ClientID]bool{}, slots: make(chan struct{}, 1)}
	g.slots <- struct{}{}
	accept := healthwire.Message{Kind: healthwire.Accept, Client: crowdID(1), Incarnation: 1}
	if g.answered(accept.AppendTo(nil)); g.early != 1 || g.failed != nil {
		t.Errorf("%d early, %v", g.early, g.failed)
	}
}
