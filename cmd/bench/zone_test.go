package main

import (
	"math"
	"strings"
	"testing"
	"time"

	suite "ulnet/lnd/lndtest/effort"
)

// TestWholeSystem: G-MS-4: a system without stubs is measured as one.
func TestWholeSystem(t *testing.T) {
	lines, err := measureWholeSystem(t.Context(), 4, 2, 40)
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

// TestZoneLines: G-MS-1 to G-MS-10 in their smallest form: each line has a figure that
// something was behind.
func TestZoneLines(t *testing.T) {
	if !suite.Long() {
		t.Skip("simulates for half a minute: set ULNET_LONG=1")
	}
	b := &bench{rounds: 1}
	count := 0
	for _, g := range goals {
		if !strings.HasPrefix(g.id, "G-MS-") {
			continue
		}
		lines, err := g.measure(t.Context(), b)
		if err != nil {
			t.Fatalf("%s: %v", g.id, err)
		}
		for _, l := range lines {
			switch {
			case strings.Contains(l.what, "in a namespace") && l.skipped != "":
				t.Logf("%s: %s: %s", g.id, l.what, l.skipped) // privilege is no tool that could be installed
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

// TestSideLines: figures of zones and of memberlist become ratios, with what is behind
// them, and false deaths a count.
func TestSideLines(t *testing.T) {
	figures := func(system string, seconds time.Duration, deaths int) sideFigures {
		s := sideSpread{Mean: seconds * time.Second, Last: 2 * seconds * time.Second}
		return sideFigures{
			System: system, Nodes: 8, Join: seconds * time.Second, Bytes: 100 * float64(seconds), Packets: float64(seconds), CPU: float64(seconds),
			Newcomer: s, Attribute: s, Goodbye: s, Death: s, Silence: s, FalseDeaths: deaths,
		}
	}
	lines, err := sideLines([]sideFigures{figures("zone", 1, 0), figures("memberlist-lan", 4, 3), figures("zone", 3, 1), figures("memberlist-lan", 4, 2)})
	if err != nil || len(lines) != 15 || len(skippedSides("why")) != len(lines) {
		t.Fatalf("%d lines: %v", len(lines), err)
	}
	for i, l := range lines[:14] {
		if l.ratio != 0.5 || l.bound() != "no goal" || l.what != skippedSides("why")[i].what {
			t.Errorf("%+v", l)
		}
	}
	if l := lines[2]; l.basis != "4.000 : 8.000 s; 8 processes on loopback, both with their defaults" {
		t.Errorf("%+v", l)
	}
	if l := lines[14]; l.ratio != 1 || !strings.HasPrefix(l.basis, "memberlist 5;") {
		t.Errorf("%+v", l)
	}
	if _, err := sideLines([]sideFigures{figures("zone", 1, 0)}); err == nil {
		t.Error("one system alone is compared")
	}
}
