package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// claim delivers a message about a zone from the host of a delegate with the given number, and returns its size.
func (s *solo) claim(kind wire.DispatchKind, i int, zone string) int {
	s.t.Helper()
	d := wire.Dispatch{Kind: kind, Zone: zone, From: testID(i), Version: v(3, 1)}
	if kind == wire.Register {
		d.Activation, d.Registration = 1, 1
	}
	s.spoken(testNID(i), nid.NID{}, d)
	return s.m.codec.DispatchSize(&d)
}

// idle lets time pass, in steps that the machine does not take for pauses.
func (s *solo) idle(d time.Duration) {
	s.t.Helper()
	for end := s.now + d; s.now < end; {
		s.now += 500 * time.Millisecond
		s.step(Input{})
	}
}

// listed reports whether the census has a zone.
func (s *solo) listed(zone string) bool {
	for _, e := range s.m.Census() {
		if e.Zone == zone {
			return true
		}
	}
	return false
}

// invented returns the longest name of a zone that has the given number.
func invented(i int) string { return fmt.Sprintf("%0*d", wire.MaxZone, i) }

// TestInventedZones: one host registers thousands of zones with long names at a supervisor. It ends their registrations,
// or lets them become lost, or keeps them, or registers no active delegates, so that the zones have no entries. Another
// zone has room in the census at once (MS-A24, MS-110).
func TestInventedZones(t *testing.T) {
	spec.Covers(t, "MS-A24", "MS-110")
	for _, how := range []string{"ended", "lost", "kept", "no active delegates"} {
		s, told := newSolo(t, 1, Config{Supervisor: true}), 0
		for round := range 3 {
			for i := range 1500 {
				d := wire.Dispatch{Kind: wire.Register, Zone: invented(1500*round + i), From: testID(9), Version: v(3, 1), Activation: 1, Registration: 1}
				if how == "no active delegates" {
					d.Activation = 0
				}
				s.spoken(testNID(9), nid.NID{}, d)
				told += len(s.out.Events)
				if how == "ended" {
					s.claim(wire.Unregister, 9, d.Zone)
				}
			}
			if how == "lost" {
				s.idle((lostAfter + 1) * s.m.cfg.Timeout)
			}
			zone := fmt.Sprint("rack", round)
			if s.claim(wire.Register, round+1, zone); !s.listed(zone) || told > 0 {
				t.Errorf("%s: %s is in the census: %v; %d refused, told %d times", how, zone, s.listed(zone), s.m.stats.TooManyZones, told)
			}
		}
	}
}

// TestInventedZonesTraffic: while one host registers and unregisters a thousand zones at a supervisor, the members of the
// management zone get a few entries. If it does so with the same few names again and again, a member gets fewer bytes
// than the host sends (MS-110).
func TestInventedZonesTraffic(t *testing.T) {
	spec.Covers(t, "MS-110")
	for _, names := range []int{1000, 3} {
		s := newSolo(t, 2, Config{Supervisor: true})
		s.link(1, v(7, 1))
		var got, most int
		var u uint64
		for i := range 1000 {
			most += s.claim(wire.Register, 9, invented(i%names)) + s.claim(wire.Unregister, 9, invented(i%names))
			if countKind(s.pass(10*time.Millisecond), wire.AttributeDigest) > 0 {
				var n int
				n, u = s.fetch(1, v(7, 1), u)
				got += n
			}
			if i%100 == 0 {
				s.hear(1, v(7, 1), wire.Message{Kind: wire.Heartbeat, Hash: s.m.view.hash, Tables: s.m.attributes.hash})
			}
		}
		if names == 1000 {
			most = 8 << 10
		}
		if got == 0 || got > most {
			t.Errorf("%d names: a member got %d bytes, want %d at most", names, got, most)
		}
	}
}

// fetch requests, as node i, what the machine has written after version u, and returns its size and the new version.
func (s *solo) fetch(i int, at wire.Version, u uint64) (size int, now uint64) {
	s.t.Helper()
	s.hear(i, at, wire.Message{Kind: wire.AttributeRequest, Lists: &wire.Lists{Tables: []wire.TableVersion{{Owner: s.ref[0], Inc: 10, U: u}}}})
	for k := range s.out.Sends {
		if m := &s.out.Sends[k].Message; m.Kind == wire.AttributeData {
			u = m.Lists.Data[0].To
			for j := range m.Lists.Data[0].Entries {
				size += m.Lists.Data[0].Entries[j].Size()
			}
		}
	}
	return size, u
}

// TestShareOfNames: a host that has brought as many names into the census as one host may brings another one when
// the death certificate of an earlier one is gone, and can use the earlier ones meanwhile. A zone that ends before
// it has an entry takes no share (MS-A24).
func TestShareOfNames(t *testing.T) {
	spec.Covers(t, "MS-A24")
	s := newSolo(t, 1, Config{Supervisor: true})
	for i := range 2 * maxNames {
		zone := fmt.Sprint("none", i) // no delegate of it is active, so there is no entry
		s.spoken(testNID(1), nid.NID{}, wire.Dispatch{Kind: wire.Register, Zone: zone, From: testID(1), Version: v(3, 1), Registration: 1})
		s.claim(wire.Unregister, 1, zone)
	}
	name := func(i int) string { return strings.Repeat("x", i+1) }
	for i := range maxNames {
		s.claim(wire.Register, 1, name(i))
	}
	s.claim(wire.Unregister, 1, name(0))
	s.claim(wire.Register, 1, "new")
	if s.listed("new") || s.m.stats.TooManyZones != 1 || len(s.m.Census()) != maxNames-1 {
		t.Errorf("%d refused, census %+v", s.m.stats.TooManyZones, s.m.Census())
	}
	if s.claim(wire.Register, 1, name(0)); !s.listed(name(0)) {
		t.Error("a zone that comes back is missing")
	}
	s.claim(wire.Unregister, 1, name(0))
	s.idle(deathAge + time.Minute)
	if s.claim(wire.Register, 1, "new"); !s.listed("new") {
		t.Errorf("there is no room after the certificate has gone: %+v", s.m.supervisor.origins.count)
	}
}

// TestShareOfLostZones: a host whose zones are lost has room for another one once their death certificates are gone,
// although lost zones stay for a day (MS-A24).
func TestShareOfLostZones(t *testing.T) {
	spec.Covers(t, "MS-A24")
	s := newSolo(t, 1, Config{Supervisor: true})
	s.claim(wire.Register, 2, "other")
	for i := range maxNames {
		s.claim(wire.Register, 1, fmt.Sprint("zone", i))
	}
	s.idle((lostAfter + 1) * s.m.cfg.Timeout)
	s.claim(wire.Register, 1, "new")
	s.idle(deathAge + time.Minute)
	if s.claim(wire.Register, 1, "new"); !s.listed("new") || !s.listed("other") {
		t.Errorf("census %+v", s.m.Census())
	}
}

// TestShareDeadline: when a lost zone gives way, the deadline of the supervisor is no longer that of this zone. Otherwise
// the machine would want a step at once, again and again, as soon as that time has come.
func TestShareDeadline(t *testing.T) {
	spec.Covers(t, "MS-A24")
	s := newSolo(t, 1, Config{Supervisor: true})
	for i := range maxNames {
		s.claim(wire.Register, 1, fmt.Sprint("zone", i))
		if i == 0 {
			s.idle(time.Second) // the first zone has deadlines of its own
		}
	}
	s.idle((lostAfter + 1) * s.m.cfg.Timeout)
	zones := s.m.supervisor.zones
	for s.m.supervisor.due != zones["zone0"].due || zones["zone1"].due == zones["zone0"].due {
		s.idle(500 * time.Millisecond)
	}
	s.claim(wire.Register, 1, "new")
	if got, want := s.m.supervisor.next(), zones["zone1"].due; zones["zone0"] != nil || got != want {
		t.Errorf("the next deadline is %v, now %v, want %v; zone0 %v", got, s.now, want, zones["zone0"])
	}
}

// TestShareMoves: a name that another NID brings again after its zone has ended counts for that NID, and no longer for the
// one that brought it before.
func TestShareMoves(t *testing.T) {
	spec.Covers(t, "MS-A24")
	s := newSolo(t, 1, Config{Supervisor: true})
	s.claim(wire.Register, 1, "rack")
	s.claim(wire.Unregister, 1, "rack")
	s.claim(wire.Register, 2, "rack")
	o := &s.m.supervisor.origins
	if !s.listed("rack") || o.of["rack"] != testNID(2) || o.count[testNID(1)] != 0 || o.count[testNID(2)] != 1 {
		t.Errorf("%+v", o)
	}
}
