package rmcastsim_test

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
	"ulnet/scoll/rmcast/engine"
	"ulnet/scoll/rmcast/rmcastsim"
)

// guard is the default of rmcast.Config.Guard.
const guard = 5 * time.Millisecond

// lossy makes a group that loses datagrams, and sends messages one after the other.
func lossy(t *testing.T, nodes, messages int, loss float64) (n *rmcastsim.Net, sent []*rmcastsim.Message) {
	t.Helper()
	n = formed(t, rmcastsim.Config{Network: scenario.Network{Nodes: nodes, Seed: 7}, Bare: true, Loss: loss, Manager: engine.ManagerConfig{Window: 64}})
	for i := range messages {
		m, err := n.Send(sim.NodeID(i%nodes), 2048)
		if err != nil {
			t.Fatalf("%d nodes, loss %v: %v", nodes, loss, err)
		}
		sent = append(sent, m)
	}
	return n, sent
}

// TestLoss: G-RM-3, RM-3, RM-19, RM-20: with 0.1, 1 and 5 % of datagrams lost, everything is
// delivered once. The 99th percentile exceeds the time without loss by at most two timeouts:
// two of a leaf, or one of a leaf and one of its parent. At most 1.2 times the lost payload is
// resent.
func TestLoss(t *testing.T) {
	spec.Covers(t, "RM-3", "RM-19", "RM-20", "G-RM-3")
	messages := effort.Seeds(300, 500, 20_000)
	for _, nodes := range []int{2, 8, 32} {
		calm, _ := lossy(t, nodes, 20, 0)
		base := rmcastsim.Percentile(calm.Times(), 100)
		for _, loss := range []float64{0.001, 0.01, 0.05} {
			n, _ := lossy(t, nodes, messages, loss)
			s, _ := n.Status(0)
			timeout := s.RTT + 200*time.Microsecond + max(s.RTT/4, guard)
			c, p99 := n.Counters(), rmcastsim.Percentile(n.Times(), 99)
			t.Logf("%d nodes, loss %v: base %v, p99 %v, time-out %v; %d lost, %d sent again, %d asked for, longest %v",
				nodes, loss, base, p99, timeout, n.LostCopies(), c.Repairs, c.Fetches, rmcastsim.Percentile(n.Times(), 100))
			limit := base + 2*timeout
			if nodes > 8 { // timeouts grow with the levels: in the 99th percentile a parent and its leaf time out
				limit += timeout
			}
			if p99 > limit {
				t.Errorf("%d nodes, loss %v: p99 is %v, base %v, time-out %v", nodes, loss, p99, base, timeout)
			}
			if float64(c.Repairs) > 1.2*float64(n.LostCopies()) {
				t.Errorf("%d nodes, loss %v: %d datagrams were sent again, %d lost", nodes, loss, c.Repairs, n.LostCopies())
			}
			if got, want := c.Delivered, uint64(nodes*messages); got != want {
				t.Errorf("%d nodes, loss %v: %d deliveries, want %d", nodes, loss, got, want)
			}
		}
	}
}

// TestLossyWindows: G-RM-3 and RM-A19: as TestLoss, but for messages that are in flight
// together, from several origins.
func TestLossyWindows(t *testing.T) {
	spec.Covers(t, "RM-A19", "G-RM-3")
	for _, loss := range []float64{0.001, 0.01, 0.05} {
		n := formed(t, rmcastsim.Config{Network: scenario.Network{Nodes: 8, Seed: 3}, Bare: true, Loss: loss, Manager: engine.ManagerConfig{Window: 64}})
		for origin := range sim.NodeID(3) {
			if _, err := n.Begin(origin, 1000, 2048); err != nil {
				t.Fatal(err)
			}
		}
		if err := n.Finish(); err != nil {
			t.Fatalf("loss %v: %v", loss, err)
		}
		c := n.Counters()
		t.Logf("loss %v: %d lost, %d sent again, %d messages with acknowledgements of 3000", loss, n.LostCopies(), c.Repairs, c.Acks)
		if float64(c.Repairs) > 1.2*float64(n.LostCopies()) {
			t.Errorf("loss %v: %d datagrams were sent again, %d lost", loss, c.Repairs, n.LostCopies())
		}
		if c.Delivered != 8*3000 || c.Acks >= 7*3000 {
			t.Errorf("loss %v: %d deliveries, %d acknowledgements", loss, c.Delivered, c.Acks)
		}
	}
}
