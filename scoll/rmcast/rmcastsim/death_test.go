package rmcastsim_test

import (
	"slices"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/simlnd"
	"ulnet/scoll/rmcast"
	"ulnet/scoll/rmcast/rmcastsim"
)

// TestDeathMidSend: G-RM-6, RM-28, RM-A8: a member, a leaf or an inner node, dies either before
// it receives a message, or after that and before it acknowledges the message. The message is
// released soon after the manager has heard of the death, and only that member is named as
// failed.
func TestDeathMidSend(t *testing.T) {
	spec.Covers(t, "RM-28", "RM-A8", "G-RM-6")
	const discovery = 100 * time.Millisecond
	worst, named := -time.Hour, 0
	for _, nodes := range []int{2, 8, 16, 64} {
		for _, victim := range []int{1, nodes / 2, nodes/2 + 1, nodes - 1} {
			for _, after := range []time.Duration{0, latency / 2, latency + 1, latency + latency/2} {
				origin := sim.NodeID(0)
				if victim == 0 || victim == nodes {
					continue
				}
				n := formed(t, rmcastsim.Config{Network: scenario.Network{Nodes: nodes}, Bare: true, Manager: small, Discovery: discovery})
				list, err := n.Begin(origin, 1, 32)
				if err == nil {
					err = n.Run(n.Now() + after)
				}
				if err != nil {
					t.Fatal(err)
				}
				s, _ := n.Status(origin)
				n.Crash(sim.NodeID(victim))
				if err := n.Finish(); err != nil {
					t.Fatal(err)
				}
				m := list[0]
				dead := slices.ContainsFunc(m.Result.Failed, func(id rmcast.ID) bool { return id.NID == simlnd.NID(sim.NodeID(victim)) })
				if m.Outcome != rmcastsim.Released || !dead && m.Elapsed() > discovery/2 || len(m.Result.Failed) > 1 {
					t.Errorf("%d nodes, %d dies after %v: %+v", nodes, victim, after, m.Result)
				}
				rtt := max(s.RTT, 2*latency)
				limit := n.Notice() + 2*rtt + time.Duration(depth(nodes))*rtt/2 + rtt // the last rtt is the time for one repair
				if !dead {
					continue
				}
				named++
				if worst = max(worst, m.Done-limit); worst > 0 {
					t.Errorf("%d nodes, %d dies after %v: released %v after the notice, want %v", nodes, victim, after, m.Done-n.Notice(), limit-n.Notice())
				}
			}
		}
	}
	if t.Logf("%d of the dead kept an origin waiting; the latest release was %v before its limit", named, -worst); named < 20 {
		t.Error("too few")
	}
}
