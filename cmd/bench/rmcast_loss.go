package main

import (
	"fmt"
	"time"

	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
	"ulnet/scoll/rmcast"
	"ulnet/scoll/rmcast/rmcastsim"
)

// measureCastLoss measures goal G-RM-3: delivery, delay and repairs while datagrams are lost.
func measureCastLoss(b *measurement) {
	const nodes = 8
	messages := pick(b, 200, 10_000, 100_000)
	calm := lossyNet(nodes, 50, 0)
	base := rmcastsim.Percentile(calm.Times(), 100)
	for _, loss := range []float64{0.001, 0.01, 0.05} {
		n := lossyNet(nodes, messages, loss)
		s, _ := n.Status(0)
		timeout := s.RTT + 200*time.Microsecond + max(s.RTT/4, 5*time.Millisecond) // time-out for a child that is a leaf; it includes the delay of the acknowledgement
		c, p99 := n.Counters(), rmcastsim.Percentile(n.Times(), 99)
		what := fmt.Sprintf("virtual time, %g %% of datagrams lost: ", 100*loss)
		basis := fmt.Sprintf("%d nodes, %d messages one after the other, %d copies lost", nodes, messages, n.LostCopies())
		wrong := max(int64(c.Delivered), int64(nodes*messages)) - min(int64(c.Delivered), int64(nodes*messages))
		b.add(
			line{what: what + "deliveries that are missing or come twice", ratio: float64(wrong), unit: "deliveries", basis: basis},
			line{what: what + "p99, to that without loss and two time-outs", ratio: float64(p99) / float64(base+2*timeout), limit: 1, basis: fmt.Sprintf("%v : %v + 2 x %v", p99, base, timeout)},
			line{what: what + "payloads sent again, to those lost", ratio: float64(c.Repairs) / float64(max(n.LostCopies(), 1)), limit: 1.2, basis: fmt.Sprintf("%d : %d", c.Repairs, n.LostCopies())},
		)
	}
	measureCastLossInLab(b)
}

// lossyNet sends messages one after another, and lets all members send in turn.
func lossyNet(nodes, messages int, loss float64) *rmcastsim.Net {
	n := castNet(rmcastsim.Config{Network: scenario.Network{Nodes: nodes, Seed: 7}, Loss: loss, Manager: rmcast.ManagerConfig{Window: 64}})
	for i := range messages {
		must(n.Send(sim.NodeID(i%nodes), 2048))
	}
	return n
}

// measureCastLossInLab measures the part of goal G-RM-3 on real sockets. Receivers check the
// contents of the messages there.
func measureCastLossInLab(b *measurement) {
	type kind struct {
		share      float64
		everything bool
	}
	kinds := pick(b, []kind{{0.01, false}}, []kind{{0, false}, {0.001, false}, {0.01, false}, {0.05, false}, {0.01, true}}, []kind{{0, false}, {0.001, false}, {0.01, false}, {0.05, false}, {0.001, true}, {0.01, true}, {0.05, true}})
	var lines []line
	for _, k := range kinds {
		what := fmt.Sprintf("in namespaces, %g %% of the group's datagrams lost", 100*k.share)
		if k.everything {
			what = fmt.Sprintf("in namespaces, %g %% of everything lost", 100*k.share)
		}
		lines = append(lines, line{what: what + ": messages missing, twice or altered", unit: "messages"})
	}
	missing := b.inCastLab(pick(b, 3, 8, 8), func(l *castLab) {
		s := l.streams(len(l.hosts))
		defer s.Stop()
		for i, k := range kinds {
			l.setLoss(0, !k.everything)
			l.setLoss(k.share, k.everything)
			o := casterOrder{Bytes: castBytes, Count: pick(b, 200, 3000, 20_000)}
			took, n := s.stream(i%len(l.hosts), o)
			lines[i].ratio = float64(n.Missing + n.Twice + n.Wrong)
			lines[i].basis = fmt.Sprintf("%d members, %d messages from one, %.0f/s; %d payloads sent again", len(l.hosts), o.Count, float64(o.Count)/took.Seconds(), n.Repairs)
		}
	})
	b.add(skip(lines, missing)...)
}
