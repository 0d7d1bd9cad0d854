package main

import (
	"math"
	"strings"
	"testing"

	suite "ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
)

// TestScenarios: scenarios of collectives yield the values that are measured, and an unmet
// expectation of a scenario is an error.
func TestScenarios(t *testing.T) {
	suite.OneGoroutine(t)
	b := &bench{rounds: 1}
	lines, err := b.measure(t.Context(), measureDeaths)
	if err != nil || len(lines) != 1 || lines[0].ratio <= 0 || !lines[0].met() {
		t.Errorf("%+v, %v", lines, err)
	}
	res, err := simulate(t.Context(), "mass-eviction", 1, "NODES", 105)
	if n := res.Measure("evicted: timed out"); err != nil || n != 5*100 {
		t.Errorf("%.0f evictions of 100 clients on 5 servers: %v", n, err)
	}
	mute, err := b.measure(t.Context(), func(b *measurement) { measureMuteLeaf(b, 4) })
	if err != nil || len(mute) != 2 || mute[0].ratio <= 0.3 || !mute[0].met() || mute[1].ratio != 0 {
		t.Errorf("%+v, %v", mute, err)
	}
	if dead, err := b.measure(t.Context(), measureDeadInner); err != nil || len(dead) != 1 || dead[0].ratio != 0 {
		t.Errorf("%+v, %v", dead, err)
	}
	for name, measure := range map[string]func(*measurement){"services": measureServices, "faults": func(b *measurement) { measurePlans(b, "faults", true) }} {
		plans, err := b.measure(t.Context(), measure)
		if err != nil || len(plans) != 2 || !plans[0].met() || !plans[1].met() || strings.Contains(plans[0].basis, " 0 members") {
			t.Errorf("%s: %+v, %v", name, plans, err)
		}
	}
	// Here node 15 is mute instead of the leaf, node 16, so that the root reports another node as unreached than the
	// scenario expects: kept must return an error that names this expectation.
	res, err = simulate(t.Context(), "mute-leaf", 1, "FAULT", "do 15 service mute")
	if err != nil || res.OK() {
		t.Errorf("another node is mute: %v", err)
	}
	if _, err := kept(res, err); err == nil || !strings.Contains(err.Error(), "expect unreached 16") {
		t.Errorf("what was expected and did not come: %v", err)
	}
}

// TestScenariosOfMembership: the scenarios of gossip and zones yield the values that are measured for
// goals G-GO-4, G-MS-3, G-MS-8 and G-MS-10.
func TestScenariosOfMembership(t *testing.T) {
	suite.OneGoroutine(t)
	spec.Covers(t, "G-GO-4", "G-MS-3", "G-MS-8", "G-MS-10")
	ctx, b := t.Context(), &bench{rounds: 1}
	paused, err := b.measure(ctx, measurePauses)
	if err != nil || len(paused) != 4 || paused[0].ratio != 0 || strings.Contains(paused[0].basis, " 0 cycles") {
		t.Errorf("%+v, %v", paused, err)
	}
	if ms, err := alerted(ctx, 32, 3, "crash"); err != nil || ms < zoneTimeout/2 || ms > zoneTimeout+5 {
		t.Errorf("a silent host is noticed after %v ms: %v", ms, err)
	}
	cut, err := b.measure(ctx, func(b *measurement) {
		ill := removals{}
		if ill.add(b, 1, 2, standStill); ill.others != 0 || ill.removed < 4*60 {
			t.Errorf("%+v", ill)
		}
		cutZone{nodes: 16, first: 4, step: longestCut / 2, seeds: 1}.measure(b)
	})
	if err != nil || len(cut) != 1 || cut[0].ratio != 0 || strings.Contains(cut[0].basis, "other side 0") {
		t.Errorf("%+v, %v", cut, err)
	}
}

// TestScenariosOfHealth: the scenarios of client health reach goals G-CH-1, G-CH-2, G-CH-3,
// G-CH-4 and G-CH-6.
func TestScenariosOfHealth(t *testing.T) {
	suite.OneGoroutine(t)
	spec.Covers(t, "G-CH-1", "G-CH-2", "G-CH-3", "G-CH-4", "G-CH-6")
	ctx, b := t.Context(), &bench{rounds: 1}
	lines, err := b.measure(ctx, measureEvictions)
	if err != nil || len(lines) != 2 || lines[0].ratio < 17.5 || lines[1].ratio <= 0 || !lines[0].met() || !lines[1].met() || !strings.Contains(lines[0].basis, "40 deaths") {
		t.Errorf("%+v, %v", lines, err)
	}
	lines, err = b.measure(ctx, measureRehoming)
	if err != nil || len(lines) != 2 || lines[0].ratio <= 0.1 || !lines[0].met() || lines[1].ratio != 0 {
		t.Errorf("%+v, %v", lines, err)
	}
	lines, err = b.measure(ctx, measureControlLoad)
	if err != nil || len(lines) != 5 || lines[0].ratio < 0.99 || !lines[0].met() || !lines[1].met() || lines[2].ratio != 0 || math.Abs(lines[3].ratio-lines[0].ratio) > 0.01 || lines[4].ratio <= 0 || lines[4].ratio >= 1 {
		t.Errorf("%+v, %v", lines, err)
	}
	lines, err = b.measure(ctx, measureFalseEvictions)
	if err != nil || len(lines) != 2 || lines[0].ratio != 0 || lines[1].ratio != 0 || strings.Contains(lines[0].basis, " 0 masters") {
		t.Errorf("%+v, %v", lines, err)
	}
	lines, err = b.measure(ctx, measureSplit)
	if err != nil || len(lines) != 3 || lines[0].ratio != 0 || lines[1].ratio != 0 || lines[2].ratio != 0 {
		t.Errorf("%+v, %v", lines, err)
	}
	// Here the cut comes only at 47 s, when the run is about to end. So the servers of the minority keep their
	// clients, and the two expectations that clients leave these servers are not met.
	whole, err := simulate(ctx, "split", 1, "NODES", 25, "at 17s cut", "at 47s cut")
	if err != nil || !whole.Expects[0].OK || whole.Expects[1].OK || whole.Expects[2].OK {
		t.Errorf("%+v, %v", whole, err)
	}
}
