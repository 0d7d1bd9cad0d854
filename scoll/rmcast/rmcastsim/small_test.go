package rmcastsim_test

import (
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
	"ulnet/scoll/rmcast/engine"
	"ulnet/scoll/rmcast/rmcastsim"
	"ulnet/scoll/rmcast/wire"
)

// TestSmallMessages: RM-42, RM-43, G-RM-3: three origins send short messages faster than the
// pace allows. The messages share datagrams, repairs and acknowledgements, with and without loss:
// all are delivered once. At most 1.2 times the messages that were missing are resent, in at most
// two PUTs for each datagram that was lost: one number may be requested before the others, in
// case the datagram is only late.
func TestSmallMessages(t *testing.T) {
	spec.Covers(t, "RM-42", "RM-43", "G-RM-3")
	const nodes, origins, messages = 8, 3, 500
	for _, loss := range []float64{0, 0.01, 0.05} {
		puts, copies, resent := 0, 0, 0
		n := formed(t, rmcastsim.Config{
			Network: scenario.Network{Nodes: nodes, Seed: 5}, Bare: true, Loss: loss, Manager: engine.ManagerConfig{Window: 64}, Capacity: 200_000,
			Tap: func(_, _ sim.NodeID, kind rmcastsim.Kind, b []byte) {
				switch kind {
				case rmcastsim.Cast:
					copies++
				case rmcastsim.Repair:
					if d, _, err := wire.ParseDatagram(b); err == nil {
						resent += int(d.Count)
					}
					puts++
				case rmcastsim.Control:
					puts++
				}
			},
		})
		puts, copies, resent = 0, 0, 0
		for origin := range sim.NodeID(origins) {
			if _, err := n.Begin(origin, messages, 64); err != nil {
				t.Fatal(err)
			}
		}
		if err := n.Finish(); err != nil {
			t.Fatalf("loss %v: %v", loss, err)
		}
		c := n.Counters()
		t.Logf("loss %v: %d messages in %d datagrams, %d PUTs, %d copies lost, %d messages sent again in %d PUTs; %d acknowledgements in %d PUTs",
			loss, origins*messages, copies/(nodes-1), puts, n.LostCopies(), resent, c.Repairs, c.Acks+c.JoinedAcks, c.Acks)
		if c.Delivered != nodes*origins*messages || float64(resent) > 1.2*float64(c.Repaired) || c.Repairs > 2*n.LostCopies() {
			t.Errorf("loss %v: %d deliveries, %d of %d messages sent again in %d PUTs, %d lost", loss, c.Delivered, resent, c.Repaired, c.Repairs, n.LostCopies())
		}
		if c.Packed < origins*messages/2 || copies/(nodes-1) > origins*messages/2 {
			t.Errorf("loss %v: %d messages in %d datagrams, %d packed", loss, origins*messages, copies/(nodes-1), c.Packed)
		}
	}
}
