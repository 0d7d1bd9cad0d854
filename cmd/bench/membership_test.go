package main

import (
	"os"
	"strings"
	"testing"
	"time"

	suite "ulnet/lnd/lndtest/effort"
)

// peersForTest returns the folder with the systems of peers. They are built only for the long
// test suite, in which their modules can be downloaded.
func peersForTest(t *testing.T) string {
	if !suite.Long() {
		return ""
	}
	p, err := buildPeers(t.Context(), "peers")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.remove)
	if p.missing != "" {
		t.Log(p.missing)
	}
	return p.path
}

// TestMembership runs a small version of the script with all systems.
func TestMembership(t *testing.T) {
	if testing.Short() {
		t.Skip("runs nodes that die, for half a minute; skipped by -short")
	}
	t.Parallel()
	trial := membershipTrial{nodes: 6, interval: 200 * time.Millisecond, calm: time.Second, measured: time.Second}
	systems := []system{{name: "gossip"}, {name: "zone", changes: true}}
	if peers := peersForTest(t); peers != "" {
		systems = append(systems, system{name: "memberlist", program: peers, changes: true})
	}
	for _, of := range systems {
		t.Run(of.name, func(t *testing.T) {
			t.Parallel()
			var m *membership
			b := &bench{stderr: os.Stderr}
			if _, err := b.measure(t.Context(), func(b *measurement) { m = trial.run(b, of) }); err != nil {
				t.Fatal(err)
			}
			if m.bytes <= 0 || m.packets <= 0 || m.cpu <= 0 || m.cpu > 100 || m.falseDeaths != 0 || m.returns != 0 {
				t.Errorf("%+v", m)
			}
			for i, s := range []sideSpread{m.newcomer, m.attribute, m.goodbye, m.death, m.silence} {
				if have := of.changes || i >= 3; (s.mean > 0) != have || (s.last > 0) != have || s.mean > s.last {
					t.Errorf("%d: %+v", i, m)
				}
			}
			t.Logf("%+v", m)
		})
	}
}

// TestSideLines: the lines contain the ratios between zones and memberlist with the values from
// which they were computed, and the number of false deaths.
func TestSideLines(t *testing.T) {
	figures := func(seconds time.Duration, deaths int) *membership {
		s := sideSpread{mean: seconds * time.Second, last: 2 * seconds * time.Second}
		return &membership{
			system: system{changes: true}, nodes: 8, join: seconds * time.Second, bytes: 100 * float64(seconds), packets: float64(seconds), cpu: float64(seconds),
			newcomer: s, attribute: s, goodbye: s, death: s, silence: s, falseDeaths: deaths,
		}
	}
	lines := sideLines([]*membership{figures(1, 0), figures(3, 1)}, []*membership{figures(4, 3), figures(4, 2)})
	skipped := skippedSides(system{changes: true}, "why")
	if len(lines) != 15 || len(skipped) != len(lines) {
		t.Fatalf("%d lines", len(lines))
	}
	for i, l := range lines[:14] {
		if l.ratio != 0.5 || l.bound() != "no goal" || l.what != skipped[i].what {
			t.Errorf("%+v", l)
		}
	}
	if l := lines[2]; l.basis != "4.000 : 8.000 s; 8 processes on loopback, both with their defaults" {
		t.Errorf("%+v", l)
	}
	if l := lines[14]; l.ratio != 1 || !strings.HasPrefix(l.basis, "memberlist 5;") {
		t.Errorf("%+v", l)
	}
	// Gossip has fewer lines: it has no newcomers, attributes or goodbyes.
	if n := len(skippedSides(system{}, "why")); n != 9 {
		t.Errorf("%d lines of gossip", n)
	}
}
