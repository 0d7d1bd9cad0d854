package main

import (
	"fmt"
	"slices"
	"time"

	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/simlnd"
	"ulnet/scoll/rmcast"
	"ulnet/scoll/rmcast/rmcastsim"
)

// measureCastDeath measures goal G-RM-6, for which a member dies while a message is being
// delivered. This is measured for several times of its death. The manager learns of a death
// after castNotice.
func measureCastDeath(b *measurement) {
	const latency = 500 * time.Microsecond
	sizes := pick(b, []int{8}, []int{8, 16, 64}, []int{8, 16, 64, 256})
	worst, where, wrong, runs, named := 0.0, "", 0, 0, 0
	for _, nodes := range sizes {
		for victim := 1; victim < nodes; victim++ {
			for _, after := range []time.Duration{0, latency / 2, latency + 1, 3 * latency / 2} {
				m, limit := castDeath(nodes, sim.NodeID(victim), latency, after)
				b.check(nil)
				runs++
				dead := slices.ContainsFunc(m.Result.Failed, func(id rmcast.ID) bool { return id.NID == simlnd.NID(sim.NodeID(victim)) })
				switch {
				case !dead && (len(m.Result.Failed) > 0 || m.Elapsed() > castNotice/2): // the victim had acknowledged the message before its death, which then must not delay the result
					wrong++
				case dead && len(m.Result.Failed) > 1:
					wrong++
				case dead:
					named++
					if r := float64(m.Elapsed()) / float64(limit-m.Sent); r > worst {
						worst, where = r, fmt.Sprintf("%v : %v, member %d of %d after %v", m.Elapsed(), limit-m.Sent, victim, nodes, after)
					}
				}
			}
		}
	}
	basis := fmt.Sprintf("%d messages of groups of %d nodes, each member in turn, 4 times; %d waited for the dead", runs, sizes, named)
	b.add(
		line{what: "a member dies: time to the release, to notice + (2 + depth / 2) RTT + one retransmission, worst", ratio: worst, limit: 1, basis: where},
		line{what: "messages whose failed set is not exact", ratio: float64(wrong), unit: "messages", basis: basis},
	)
}

// castNotice is the longest time until the manager learns of a death; the shortest time is half as long.
const castNotice = 100 * time.Millisecond

// castDeath crashes a member after a message was sent. It returns the message, and the bound for
// the time until the message is released.
func castDeath(nodes int, victim sim.NodeID, latency, after time.Duration) (m *rmcastsim.Message, limit time.Duration) {
	n := castNet(rmcastsim.Config{
		Network: scenario.Network{Nodes: nodes, Topology: evenLinks(latency)}, Manager: rmcast.ManagerConfig{Window: 2, Fragment: 64}, Discovery: castNotice,
	})
	list := must(n.Begin(0, 1, 32))
	succeed(n.Run(n.Now() + after))
	s, _ := n.Status(0)
	n.Crash(victim)
	succeed(n.Finish())
	rtt, depth := max(s.RTT, 2*latency), casterTree(nodes).Depth(0)
	return list[0], n.Notice() + 2*rtt + time.Duration(depth)*rtt/2 + rtt
}
