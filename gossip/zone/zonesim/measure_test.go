package zonesim_test

import (
	"testing"
	"time"

	"ulnet/gossip/zone"
	"ulnet/gossip/zone/zonesim"
)

// TestMeasuredZone: figures of a small zone are within the bounds of the goals (MS-30,
// MS-104, MS-105, MS-107).
func TestMeasuredZone(t *testing.T) {
	ctx := t.Context()
	m := zonesim.Measured{Nodes: 128, Seed: 1}
	check := func(what string, err error, ok bool, got any) {
		t.Helper()
		if err != nil || !ok {
			t.Errorf("%s: %v, %+v", what, err, got)
		}
	}
	boot, err := m.Boot(ctx)
	check("boot", err, boot > 0 && boot < 1200*time.Millisecond, boot)
	c, err := m.Leave(ctx, 1, 8)
	check("leave", err, len(c) == 2 && c[1].Nodes == 8 && c[1].Detected > 0 && c[1].Mean < 600*time.Millisecond && c[0].Last-c[0].Detected == c[0].Late && c[1].Late < 5*m.Tau() && c[0].Back <= c[0].Last+m.Tau(), c)
	took, timeout, err := m.Alert(ctx, false)
	check("reset", err, took <= 3*zonesim.RTT, took)
	took, timeout2, err := m.Alert(ctx, true)
	check("silence", err, timeout == timeout2 && took > timeout/2 && took <= timeout+5*time.Millisecond, took)
	idle, err := m.Rest(ctx, 10*time.Second)
	check("idle", err, idle.Others == 0 && idle.Heartbeats > 0 && idle.Heartbeats <= 64*idle.Messages && idle.Links > 4, idle)
	spread, err := m.Write(ctx, 2)
	check("attribute", err, spread.Mean > 0 && spread.Last < 5*m.Tau() && spread.Received >= 1 && spread.Received < 1.5, spread)
	heal, err := m.Heal(ctx, 40)
	check("partition", err, heal.Apart == 128 && heal.Diameter > 1 && heal.Contact > 0, heal)
	cut, err := m.Cut(ctx, 40, 3*time.Second, 20*time.Second)
	check("short partition", err, cut.Own == 0 && cut.Across+cut.After == 0, cut)
	cut, err = m.Cut(ctx, 40, 9*time.Second, 20*time.Second)
	check("long partition", err, cut.Own == 0 && cut.Across >= 2*40*88 && cut.Whole > 0, cut)
	slow, err := zonesim.Measured{Nodes: 64, Seed: 1}.Slow(ctx, 4, 150*time.Millisecond, 30*time.Second)
	check("slow", err, slow.Removed == 0, slow)
	slow, err = zonesim.Measured{Nodes: 64, Seed: 1}.Block(ctx, 4, 8*time.Second, 100*time.Millisecond, 30*time.Second)
	check("blocked", err, slow.Removed == 0 && slow.Slow >= 4*60, slow)
}

// TestMeasuredSystem: a system of stubs knows of each death soon (MS-98, MS-103, MS-106),
// and so does one of whole zones.
func TestMeasuredSystem(t *testing.T) {
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
