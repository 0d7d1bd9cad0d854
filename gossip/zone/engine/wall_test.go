package engine

import (
	"testing"
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnd/lndtest/spec"
)

// TestWallGoesOn: the limit for incarnations follows the wall clock from the first step of the machine.
// It does not begin again when the node joins again, and also moves while the node is paused: other
// nodes that started meanwhile must remain acceptable (MS-A2).
func TestWallGoesOn(t *testing.T) {
	spec.Covers(t, "MS-A2")
	const wall, ahead, later = uint64(1 << 60), uint64(10 * time.Second), 20 * time.Second
	for name, wait := range map[string]func(*solo){
		"joined": func(s *solo) { s.pass(later) },
		"joined again": func(s *solo) {
			s.pass(later)
			s.step(Input{Kind: Leave})
			s.step(Input{Kind: Join, Inc: wall})
		},
		"paused": func(s *solo) {
			s.now += later
			s.step(Input{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := acquainted(t, 4, Config{Wall: wall, Ahead: ahead})
			first := s.now - s.m.cfg.Aggregation
			wait(s)
			past := uint64(s.now - first)
			s.alive(2, v(wall+past+ahead+1, 1))
			if e := s.m.view.at(s.ref[2]); e.inc > wall {
				t.Errorf("an incarnation beyond the limit is accepted: %+v", e)
			}
			s.alive(1, v(wall+past+ahead, 1))
			s.is(1, inView, v(wall+past+ahead, 1))
		})
	}
}

// TestWallBeforeJoin: the limit counts from the first step, which may be long before the node
// joins (MS-A2).
func TestWallBeforeJoin(t *testing.T) {
	spec.Covers(t, "MS-A2")
	const wall, ahead, later = uint64(1 << 60), uint64(10 * time.Second), time.Hour
	m, err := New(Config{Zone: "test", Self: testID(0), Wall: wall, Ahead: ahead})
	if err != nil {
		t.Fatal(err)
	}
	var out Output
	m.Step(0, Input{}, &out)
	m.Step(later, Input{Kind: Join, Inc: wall}, &out)
	for at, want := range map[uint64]bool{wall + uint64(later) + ahead: true, wall + uint64(later) + ahead + 1: false} {
		if m.plausible(wire.Version{Inc: at, Minor: 1}) != want {
			t.Errorf("an incarnation %d ahead of the wall clock at the start: acceptable %v", at-wall, !want)
		}
	}
}

// TestWallIsSet: the host begins with a clock that is ten hours behind, or is suspended for that long with its machine,
// and the clock is set later. Nodes that start then, with correct clocks, are accepted. When the clock was set forward
// by mistake and back, what the wrong clock allowed is refused again (MS-A2).
func TestWallIsSet(t *testing.T) {
	spec.Covers(t, "MS-A2")
	const wall, ahead, offset = uint64(1 << 60), uint64(10 * time.Second), uint64(10 * time.Hour)
	s := acquainted(t, 4, Config{Wall: wall, Ahead: ahead})
	for _, c := range []struct {
		wall, inc uint64
		accepted  bool
	}{
		{wall, wall + offset, false},
		{wall + offset, wall + offset, true},
		{wall + offset, wall + offset + ahead + uint64(time.Hour), false},
		{wall, wall + offset + ahead/2, false},
		{0, wall + offset + ahead/2, false},
	} {
		s.step(Input{Wall: c.wall})
		s.alive(2, v(c.inc, 1))
		if e := s.m.view.at(s.ref[2]); (e.inc == c.inc) != c.accepted {
			t.Errorf("the clock is %v after the start, an incarnation of %v after it is accepted: %v", time.Duration(c.wall-wall), time.Duration(c.inc-wall), !c.accepted)
		}
	}
	s.step(Input{Wall: wall + offset})
	s.pass(time.Minute)
	s.alive(3, v(wall+offset+uint64(time.Minute)+ahead, 1))
	s.is(3, inView, v(wall+offset+uint64(time.Minute)+ahead, 1))
}
