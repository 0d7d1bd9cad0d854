package main

import (
	"math"
	"strings"
	"testing"

	suite "ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
)

// TestWholeSystem: a system without stubs can be measured (G-MS-4).
func TestWholeSystem(t *testing.T) {
	suite.OneGoroutine(t)
	spec.Covers(t, "G-MS-4")
	lines, err := new(bench).measure(t.Context(), func(b *measurement) { measureWholeSystem(b, 4, 2, 40) })
	if err != nil || len(lines) != 2 {
		t.Fatalf("%d lines: %v", len(lines), err)
	}
	if l := lines[0]; l.ratio <= 0 || !l.met() || !strings.Contains(l.basis, "2 zones of 40 whole nodes") {
		t.Errorf("%+v", l)
	}
	if l := lines[1]; l.ratio <= 0 || l.ratio > 1 || l.basis != "84 nodes" {
		t.Errorf("%+v", l)
	}
}

// TestZoneLines: goals G-MS-1 to G-MS-10 are measured at their smallest size. The figure of each
// line comes from a measurement.
func TestZoneLines(t *testing.T) {
	spec.Covers(t, "G-MS-1", "G-MS-10")
	if !suite.Long() {
		t.Skip("simulates for half a minute: set ULNET_LONG=1")
	}
	b := &bench{rounds: 1}
	count := 0
	for _, g := range goals {
		if !strings.HasPrefix(g.id, "G-MS-") {
			continue
		}
		lines, err := b.measure(t.Context(), g.measure)
		if err != nil {
			t.Fatalf("%s: %v", g.id, err)
		}
		for _, l := range lines {
			switch {
			case strings.Contains(l.what, "in a namespace") && l.skipped != "":
				t.Logf("%s: %s: %s", g.id, l.what, l.skipped) // a missing privilege is no failure, because it cannot be installed like a tool
			case l.basis == "" || l.skipped != "" || math.IsNaN(l.ratio):
				t.Errorf("%s: %+v", g.id, l)
			}
		}
		count += len(lines)
	}
	if count != 46 {
		t.Errorf("%d lines", count)
	}
}
