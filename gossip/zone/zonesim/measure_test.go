package zonesim_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"ulnet/gossip/zone"
	"ulnet/gossip/zone/wire"
	"ulnet/gossip/zone/zonesim"
	"ulnet/lnd/link"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/scenariotest"
)

// TestMeasuredZone: in a small zone an attribute spreads, and the zone heals after a partition, within the
// times of the goals (G-MS).
func TestMeasuredZone(t *testing.T) {
	ctx := t.Context()
	m := zonesim.Measured{Nodes: 128, Seed: 1}
	check := func(what string, err error, ok bool, got any) {
		t.Helper()
		if err != nil || !ok {
			t.Errorf("%s: %v, %+v", what, err, got)
		}
	}
	spread, err := m.Write(ctx, 2)
	check("attribute", err, spread.Mean > 0 && spread.Last < 5*zonesim.Tau && spread.Received >= 1 && spread.Received < 1.5, spread)
	heal, err := m.Heal(ctx, 40)
	check("partition", err, heal.Apart == 128 && heal.Diameter > 1 && heal.Contact > 0, heal)
}

// TestStartAndLeave: a small zone starts, and learns of deaths and returns, within the times of the goals
// (MS-104, MS-105).
func TestStartAndLeave(t *testing.T) {
	spec.Covers(t, "MS-104", "MS-105")
	const nodes, τ = 128, 200.0
	for _, dead := range []int{1, 8} {
		seed := uint64(1)
		res := scenariotest.Run(t, parse(t, fmt.Sprintf(`protocol zone
nodes %d
run 40s
link latency 500µs
check every 1ms
expect views-right by 1200ms
at 12s kill 1-%d
expect views-right within 10s
at 30s restart 1-%[2]d
expect views-right within 10s
always no-false-removal
`, nodes, dead)), scenario.Options{Seed: &seed})
		scenariotest.Holds(t, res)
		back := res.Expects[2]
		first, mean, last := res.Measure("removed first after"), res.Measure("removed on average after"), res.Measure("removed last after")
		if told := res.Measure("removals told"); told != float64(dead*(nodes-dead)) || first <= 0 || mean >= 600 || last >= 5*τ {
			t.Errorf("%d dead: removed %.0f times, after %.1f, %.1f and %.1f ms", dead, told, first, mean, last)
		}
		if took := (back.At - back.From).Seconds() * 1000; took > last+τ+1 {
			t.Errorf("%d dead: removed after %.1f ms, back after %.1f ms", dead, last, took)
		}
	}
}

// TestIdleZone: a zone at rest sends heartbeats alone, which are small (MS-30).
func TestIdleZone(t *testing.T) {
	spec.Covers(t, "MS-30")
	const nodes = 128
	n, err := zonesim.New(zonesim.Config{Network: scenario.Network{Nodes: nodes, Seed: 1, Topology: &sim.Flat{Link: link.Quality{Latency: link.Dist{Base: zonesim.RTT / 2}}}}})
	if err == nil {
		err = n.Run(30 * time.Second)
	}
	if err != nil {
		t.Fatal(err)
	}
	before, bytes := n.Counters().Sent, n.Stats().SentBytes
	if err := n.Run(40 * time.Second); err != nil {
		t.Fatal(err)
	}
	bytes = n.Stats().SentBytes - bytes
	for kind, sent := range n.Counters().Sent {
		sent -= before[kind]
		if beat := wire.Kind(kind) == wire.Heartbeat; beat != (sent > 0) || beat && bytes > 64*sent {
			t.Errorf("%d messages %v, %d bytes in all", sent, wire.Kind(kind), bytes)
		}
	}
	links := 0
	for id := range sim.NodeID(nodes) {
		links += len(n.Machine(id).Neighbours(nil))
	}
	if links <= 4*nodes {
		t.Errorf("%d links of %d nodes", links, nodes)
	}
}

// small is a zone at rest, in which a fault then occurs.
const small = `protocol zone
nodes %d
run %v
link latency 500µs
%s
`

// TestFaultsOfZone: MS-30, MS-104, MS-107, G-MS-3, G-MS-8, G-MS-10: a monitor is soon notified
// of a death, and no healthy member is removed, whatever other nodes do.
func TestFaultsOfZone(t *testing.T) {
	spec.Covers(t, "MS-30", "MS-104", "MS-107", "G-MS-3", "G-MS-8", "G-MS-10")
	run := func(nodes int, length time.Duration, faults string) *scenario.Result {
		t.Helper()
		seed := uint64(1)
		return scenariotest.Run(t, parse(t, fmt.Sprintf(small, nodes, length, faults)), scenario.Options{Seed: &seed})
	}
	const monitored = "at 3s do 2 monitor\nat 15s %s 9"
	told := func(verb string) float64 {
		return run(128, 30*time.Second, fmt.Sprintf(monitored, verb)).Measure("monitors knew last after")
	}
	if ms := told("kill"); ms <= 0 || ms > 3*zonesim.RTT.Seconds()*1e3 {
		t.Errorf("a monitor knows of a process that died after %v ms", ms)
	}
	if ms := told("crash"); ms < 3500/2 || ms > 3500+5 {
		t.Errorf("a monitor knows of a host that is silent after %v ms", ms)
	}
	for _, tt := range []struct {
		what, faults string
		length       time.Duration
		least, most  float64 // bounds of the number of removals of nodes that had a fault, or were on the other side of the partition
	}{
		{"a short partition", "at 10.61s partition 1-40\nat 13.61s heal\nexpect views-right", 33610 * time.Millisecond, 0, 0},
		{"a long partition", "at 10.61s partition 1-40\nat 19.61s heal\nexpect views-right", 39610 * time.Millisecond, 2 * 40 * 88, math.Inf(1)},
	} {
		res := run(128, tt.length, tt.faults)
		scenariotest.Holds(t, res)
		if n, own := res.Measure("removals told"), res.Measure("false removals"); own != 0 || n < tt.least || n > tt.most {
			t.Errorf("%s: %v removals, %v of them of healthy nodes", tt.what, n, own)
		}
	}
	if res := run(64, 42*time.Second, "at 12s slow 1-4 150ms"); res.Measure("false removals") > 0 {
		t.Errorf("slow nodes: %+v", res.Measures)
	}
	if res := run(64, 55*time.Second, "every 8.1s from 12s to 42s pause 1-4 for 8s"); res.Measure("false removals") > 0 || res.Measure("removals told") < 4*60 {
		t.Errorf("nodes that stand still: %+v", res.Measures)
	}
}

// TestMeasuredSystem: the supervisors of a system of stubs learn of each death soon (MS-98,
// MS-103, MS-106), and so do those of a system of whole zones.
func TestMeasuredSystem(t *testing.T) {
	spec.Covers(t, "MS-98", "MS-103", "MS-106")
	for name, m := range map[string]zonesim.Measured{
		"stubs": {Nodes: 24, Supervisors: 8, Zones: 16, Stub: 256, Seed: 1, Zone: zone.Paper},
		"whole": {Nodes: 100, Supervisors: 4, Zones: 4, Seed: 1},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := m.System(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if want := m.Supervisors + max(m.Stub*m.Zones, m.Nodes-m.Supervisors); s.Members != want || s.Boot <= 0 || s.Boot > 5*time.Second {
				t.Errorf("%d members, boot %v", s.Members, s.Boot)
			}
			mean, last, err := s.Leave(t.Context(), 2)
			if err != nil || mean <= 0 || mean > last || last > 1500*time.Millisecond {
				t.Errorf("leave: %v, %v, %v", mean, last, err)
			}
			settled, err := s.Settle(t.Context(), 10)
			if err != nil || settled > 2*time.Second {
				t.Errorf("settled after %v: %v", settled, err)
			}
		})
	}
}
