package main

import (
	"strings"
	"testing"
	"time"

	"ulnet/cmd/internal/connstore"
	"ulnet/health"
	healthwire "ulnet/health/wire"
	"ulnet/lnd"
)

// TestLeaseLines: figures of both systems become ratios, with what is behind them.
func TestLeaseLines(t *testing.T) {
	ours := []leaseFigures{{Clients: 10, Servers: 3, ServerCPU: 10, Half: 2 * time.Second}, {ServerCPU: 30, Half: 4 * time.Second}}
	theirs := []leaseFigures{{ServerCPU: 40, Half: 8 * time.Second}, {System: "etcd", ServerCPU: 60, Half: 8 * time.Second, Missed: 2}}
	lines := leaseLines(ours, theirs)
	if len(lines) != len(leaseFigureList) || len(lines) != len(skippedLeases("why")) {
		t.Fatalf("%d lines", len(lines))
	}
	first, last := lines[0], lines[len(lines)-1]
	if first.ratio != 0.375 || last.ratio != 0.375 || first.bound() != "no goal" {
		t.Errorf("%+v, %+v", first, last)
	}
	if !strings.HasPrefix(first.basis, "20.00 : 50.00 % of a core; 10 clients, 3 servers") || !strings.HasSuffix(first.basis, "loopback; etcd gave up 0 living clients and missed 2 deaths") {
		t.Errorf("basis %q", first.basis)
	}
	if l := skippedLeases("no go")[0]; l.verdict() != "skipped" || l.value() != "- (no go)" {
		t.Errorf("%+v", l)
	}
}

// TestBuildPeers: without the source there is a reason, not an error.
func TestBuildPeers(t *testing.T) {
	t.Chdir(t.TempDir())
	if p, why, err := buildPeers(t.Context()); p != nil || err != nil || !strings.Contains(why, "cmd/bench/peers") {
		t.Errorf("got %v, %q, %v", p, why, err)
	}
}

// TestCrowds: G-CH-5: what is measured is a master with clients that stay: as a
// machine and as a whole node, of which no message is lost.
func TestCrowds(t *testing.T) {
	const clients = 300
	order := make([]int, clients)
	for i := range order {
		order[i] = i
	}
	m, err := newCrowd(clients)
	if err != nil {
		t.Fatal(err)
	}
	for range 8 { // longer than T_evict
		m.pings(order, 5*time.Second)
	}
	if st := m.server.Stats(); st.Pings != 8*clients || st.Sent < 9*clients || st.Evictions != 0 {
		t.Errorf("machine: %+v", st)
	}
	m.idle(20 * time.Second)
	if st := m.server.Status(); st.Mastered != 0 || st.Evicting != clients {
		t.Errorf("nobody pings: %+v", st)
	}
	n, err := newCrowdNode(make([]lnd.Delivery, clients))
	if err != nil {
		t.Fatal(err)
	}
	if err := n.pings(order); err != nil {
		t.Error(err)
	}
	if err := n.settle(&n.mouth.pongs, clients); err != nil || n.others.Load() != 0 {
		t.Errorf("node: %v, %d other messages", err, n.others.Load())
	}
	if st := n.agent.Stats(); st.Pings != clients || st.Malformed+st.Strangers+st.Foreign != 0 {
		t.Errorf("node: %+v", st)
	}
	if err := n.close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestAcceptsWait: each accept comes after its record is durable, and one that
// comes before is counted.
func TestAcceptsWait(t *testing.T) {
	const clients = 500
	took, elapsed, err := floodOnce(t.TempDir()+"/clients.db", time.Millisecond, 10, clients, func(s *connstore.Store, first, n int) ([]time.Duration, error) {
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
	if g.answered(accept.AppendBinary(nil)); g.early != 1 || g.failed != nil {
		t.Errorf("%d early, %v", g.early, g.failed)
	}
}
