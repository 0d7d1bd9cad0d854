package engine

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnd/lndtest/spec"
)

// system has some base zones and a management zone.
type system struct {
	*world
	supervisors []*node
	zones       [][]*node
}

// newSystem starts a number of base zones of one size, and a management zone, all at once
// (MS-95).
func newSystem(t *testing.T, seed uint64, zones, size, supervisors int) *system {
	t.Helper()
	w := newWorld(t, seed, zones*size+supervisors, Config{})
	s := &system{world: w, supervisors: w.nodes[:supervisors]}
	group := func(list []*node, zone string, change func(*Config)) {
		for i, n := range list {
			n.boot = []wire.ID{list[(i+1)%len(list)].id, list[(i+2)%len(list)].id}
			n.change = func(c *Config) {
				c.Zone = zone
				change(c)
			}
			n.start()
		}
	}
	group(s.supervisors, "management", func(c *Config) { c.Supervisor = true })
	for z := range zones {
		list := w.nodes[supervisors+z*size : supervisors+(z+1)*size]
		s.zones = append(s.zones, list)
		group(list, fmt.Sprint("zone", z), func(c *Config) {
			c.Management = []wire.ID{s.supervisors[0].id, s.supervisors[1].id}
		})
	}
	return s
}

// right reports whether the census of each supervisor that is up has, for every zone, the right size and
// number of delegates, and an active delegate and a supervisor that are up (MS-98).
func (s *system) right() bool {
	for _, n := range s.supervisors {
		if !n.up {
			continue
		}
		census := n.m.Census()
		if len(census) != len(s.zones) {
			return false
		}
		for z, e := range census {
			alive, delegates := 0, 0
			for _, o := range s.zones[z] {
				if o.up {
					alive++
					if o.m.delegate.serving { // the delegates are the first three in the order, and an active one that is no longer among them
						delegates++
					}
				}
			}
			d := s.byNID[e.Delegate.Endpoints()[0]]
			v := s.byNID[e.Supervisor.Endpoints()[0]]
			if e.Size != alive || !d.up || !v.up || d.m.delegate.own != e.Activation || e.Delegates != delegates || delegates < min(3, alive) || delegates > 4 {
				return false
			}
		}
	}
	return true
}

// active returns the active delegates of a zone.
func (s *system) active(z int) (list []*node) {
	for _, n := range s.zones[z] {
		if n.up && n.m.delegate.own > 0 {
			list = append(list, n)
		}
	}
	return list
}

// wrong fails the test and shows the state of the hierarchy.
func (s *system) wrong(format string, args ...any) {
	s.t.Helper()
	for _, n := range s.nodes {
		if n.up && n.m.delegate != nil && n.m.delegate.serving {
			s.t.Logf("%s %+v", n.id.Name(), n.m.Delegation())
		} else if n.up && n.m.delegate == nil {
			s.t.Logf("%s %+v", n.id.Name(), n.m.Census())
		}
	}
	s.fail(format, args...)
}

// guardian returns the supervisor of a zone.
func (s *system) guardian(z int) *node {
	return s.byNID[s.active(z)[0].m.delegate.chosen.Endpoints()[0]]
}

// TestHierarchy: delegates are elected and register with a supervisor. Every member of the
// management zone has the census. Delegates and supervisors that fail are replaced (MS-95 to
// MS-100, MS-A24).
func TestHierarchy(t *testing.T) {
	spec.Covers(t, "MS-95", "MS-96", "MS-97", "MS-98", "MS-99", "MS-100", "MS-101", "MS-A24")
	for seed := range uint64(4) {
		s := newSystem(t, seed, 3, 7, 5)
		s.until(5*time.Second, s.right)
		s.run(5 * time.Second)
		if !s.right() {
			s.wrong("the census is not right any more")
		}
		for z := range s.zones {
			a := s.active(z)
			if len(a) != 1 || a[0].m.delegate.own != 1 {
				t.Fatalf("zone %d has %d active delegates", z, len(a))
			}
			if rank := a[0].m.rankOfDelegate(a[0].m.self, 9); rank != 0 {
				t.Errorf("the active delegate of zone %d is number %d", z, rank)
			}
			for _, n := range s.zones[z] { // MS-101: the delegate is a monitor of its zone
				if m := n.m.attributes.monitors; n != a[0] && (len(m) != 1 || n.m.Table().ID(m[0]) != a[0].id) {
					t.Errorf("%v knows %d monitors", n.id, len(m))
				}
			}
			g := s.guardian(z).m.supervisor.zones[fmt.Sprint("zone", z)]
			if len(g.members) != 7 || g.hash != a[0].m.Hash() { // the supervisor knows the same seven members (MS-97)
				t.Errorf("the supervisor knows %d members of zone %d", len(g.members), z)
			}
		}
		bound := func(what string, most time.Duration, f func()) {
			t.Helper()
			f()
			if took := s.until(10*time.Second, s.right); took > most {
				t.Errorf("seed %d: the census is right %v after %s", seed, took, what)
			}
			s.run(3 * time.Second)
			if !s.right() {
				s.wrong("after %s: not right any more", what)
			}
		}
		const tau, timeout = 200 * time.Millisecond, 3500 * time.Millisecond
		const spread = 3*tau + 20*time.Millisecond // time for an attribute to reach five supervisors, with the phase of the rounds
		bound("a member failed", 2*tau+spread, func() { s.zones[0][0].kill() })
		bound("an active delegate failed", 2*tau+spread, func() { s.active(1)[0].kill() })
		bound("an active delegate fell silent", timeout+2*tau+spread, func() { s.active(2)[0].crash() })
		bound("a supervisor failed", 2*tau+spread+1100*time.Millisecond, func() { s.guardian(0).kill() })
		bound("a supervisor fell silent", timeout+2*tau+spread+1100*time.Millisecond, func() { s.guardian(1).crash() })
		for z := range s.zones {
			if len(s.active(z)) != 1 {
				t.Errorf("zone %d has %d active delegates", z, len(s.active(z)))
			}
		}
		for _, n := range s.nodes { // MS-A24: a node that comes back as the first in rank does not replace the active delegate
			if !n.up {
				n.start()
			}
		}
		s.until(10*time.Second, s.right)
		if a := s.active(1)[0].m.delegate.own; a != 2 {
			t.Errorf("activation %d: there was a take-over without need", a)
		}
	}
}

// TestCensusQuestion: every member of the management zone can ask for the members of
// any base zone (MS-99).
func TestCensusQuestion(t *testing.T) {
	spec.Covers(t, "MS-99")
	s := newSystem(t, 1, 2, 6, 4)
	s.until(5*time.Second, s.right)
	s.run(3 * time.Second)
	got := map[string]int{}
	s.told = func(n *node, e *Event) {
		if e.Kind == Listed {
			if e.Unknown {
				got[fmt.Sprint(n.i, e.Zone, "unknown")]++
			} else {
				got[fmt.Sprint(n.i, e.Zone, e.Number)] += len(e.Members)
			}
		}
	}
	for i, n := range s.supervisors {
		n.step(Input{Kind: QueryZone, Key: "zone1", Number: uint64(40 + i)})
		n.step(Input{Kind: QueryZone, Key: "nowhere"})
	}
	s.run(100 * time.Millisecond)
	for i := range s.supervisors {
		if got[fmt.Sprint(i, "zone1", 40+i)] != 6 || got[fmt.Sprint(i, "nowhere", "unknown")] != 1 {
			t.Errorf("answers %v", got)
		}
	}
}

// TestAlarm: a suspicion in a base zone reaches its supervisor and the monitors of the management
// zone within less than τ (MS-101, MS-A13, MS-A32).
func TestAlarm(t *testing.T) {
	spec.Covers(t, "MS-101", "MS-A13", "MS-A32")
	s := newSystem(t, 2, 2, 12, 4)
	s.until(5*time.Second, s.right)
	monitor := s.supervisors[3]
	if monitor == s.guardian(0) {
		monitor = s.supervisors[2]
	}
	monitor.step(Input{Kind: Set, Key: MonitorKey})
	s.run(3 * time.Second)
	var victim *node
	for _, n := range s.zones[0] {
		if n.m.delegate.own == 0 {
			victim = n
		}
	}
	begin, first := s.now, time.Duration(0)
	var zone string
	s.told = func(n *node, e *Event) {
		if n == monitor && e.Kind == Alarmed && first == 0 && e.Suspect.ID == victim.id {
			first, zone = s.now-begin, e.Zone
		}
	}
	victim.kill()
	s.run(time.Second)
	if first == 0 || first > 5*2*s.latency || zone != "zone0" {
		t.Errorf("the monitor knows of %q after %v", zone, first)
	}
}

// TestTwoActive: a partition gives a base zone two active delegates. When it is healed, only the one
// with the later activation stays active, and the census is right again (MS-A24).
func TestTwoActive(t *testing.T) {
	spec.Covers(t, "MS-A24")
	s := newSystem(t, 3, 1, 12, 3)
	s.until(5*time.Second, s.right)
	s.run(3 * time.Second)
	half := map[int]bool{}
	for i, n := range s.zones[0] {
		half[n.i] = i%2 == 0
	}
	isSupervisor := func(i int) bool { return i < 3 }
	s.cut = func(a, b int) bool { return half[a] != half[b] && !isSupervisor(a) && !isSupervisor(b) }
	s.until(time.Minute, func() bool { return len(s.active(0)) == 2 })
	s.run(5 * time.Second)
	for _, n := range s.supervisors {
		if c := n.m.Census(); len(c) != 1 || c[0].Activation != 2 {
			t.Errorf("census %+v", c)
		}
	}
	s.cut = nil
	s.until(time.Minute, func() bool { return len(s.active(0)) == 1 && s.right() })
	if a := s.active(0)[0].m.delegate.own; a != 2 {
		t.Errorf("activation %d is left", a)
	}
}

// TestUnheardDelegate: a delegate dies when its supervisor already knows that it is active, but
// its zone does not know yet. The next delegate gets a higher activation (MS-A24).
func TestUnheardDelegate(t *testing.T) {
	spec.Covers(t, "MS-A24")
	found := 0
	for seed := range uint64(20) {
		s := newSystem(t, seed, 1, 7, 3)
		unheard := false
		s.until(5*time.Second, func() bool {
			a := s.active(0)
			if len(a) != 1 || !a[0].m.delegate.chosen.IsValid() {
				return false
			}
			g := s.guardian(0).m.supervisor.zones["zone0"]
			if g == nil || g.published.Activation == 0 {
				return false
			}
			unheard = true
			for _, n := range s.zones[0] {
				unheard = unheard && (n == a[0] || n.m.delegate.highest == 0)
			}
			return true
		})
		if !unheard {
			continue
		}
		found++
		s.active(0)[0].kill()
		s.until(10*time.Second, func() bool { return s.right() && s.supervisors[0].m.Census()[0].Activation == 2 })
	}
	if found == 0 {
		t.Error("no delegate was active before its zone knew")
	}
}

// TestNoManagement: delegates whose supervisors do not answer go on asking, at most once per
// heartbeat, and change to a supervisor that answers.
func TestNoManagement(t *testing.T) {
	s := newSystem(t, 1, 1, 5, 3)
	s.until(5*time.Second, s.right)
	for _, n := range s.supervisors {
		n.kill()
	}
	s.run(5 * time.Second)
	s.dispatches = 0
	s.run(20 * time.Second)
	if s.dispatches < 20 || s.dispatches > 3*20*8 {
		t.Errorf("%d messages to nobody in 20 s", s.dispatches)
	}
	s.supervisors[1].start()
	s.until(70*time.Second, s.right)
}

// TestDispatch: a registration that is too long for one message arrives complete, in several signed messages.
// A message that was changed, or is not signed, is refused and counted.
func TestDispatch(t *testing.T) {
	d := &wire.Dispatch{
		Kind: wire.Register, Flags: wire.Whole, From: testID(1), Version: v(3, 4), Zone: "z", Activation: 5, Registration: 6, Hash: 7,
		Known: 8, Number: 9, Size: 10, Reporters: 11, Joined: []wire.Named{{ID: testID(2), Version: v(1, 1)}}, Left: []wire.Named{{ID: testID(3), Version: v(2, 2)}, {ID: testID(4), Version: v(2, 3)}},
	}
	to, from := codecs(t, "secret")
	for _, m := range []*Machine{to, from} {
		m.cfg.Supervisor = true
		m.out = &Output{}
		m.join(3)
	}
	from.cfg.MaxMessage = wire.MinMessage + 2000
	for i := range 300 {
		d.Joined = append(d.Joined, wire.Named{ID: testID(i + 10), Version: v(1, 1)})
	}
	d.Left = nil
	from.dispatch(testID(0), d, false)
	if len(from.out.Dispatches) < 10 {
		t.Fatalf("%d parts", len(from.out.Dispatches))
	}
	for i, s := range from.out.Dispatches {
		data := from.out.Buf[s.Begin:s.End]
		if len(data) != s.Size || len(data) > from.cfg.MaxMessage {
			t.Errorf("part %d has %d bytes, said %d", i, len(data), s.Size)
		}
		out := Output{}
		to.Step(1, Input{Kind: Arrived, Data: data}, &out)
	}
	if n := len(to.supervisor.zones["z"].members); n != 301 {
		t.Errorf("%d members arrived", n)
	}
	forged := slices.Clone(from.out.Buf[:from.out.Dispatches[0].End])
	forged[40] ^= 1
	out := Output{}
	to.Step(1, Input{Kind: Arrived, Data: forged}, &out)
	_, plain := codecs(t)
	to.Step(1, Input{Kind: Arrived, Data: plain.codec.AppendDispatch(nil, d, testID(0))}, &out)
	if to.stats.NotSigned != 2 {
		t.Errorf("%d refused", to.stats.NotSigned)
	}
}

// FuzzDispatch: a machine that takes part survives any message of another zone.
func FuzzDispatch(f *testing.F) {
	to, from := codecs(f)
	d := &wire.Dispatch{Kind: wire.Alarm, From: testID(1), Version: v(3, 4), Zone: "z", About: testID(2), AboutVersion: v(1, 1)}
	f.Add(from.codec.AppendDispatch(nil, d, testID(0)))
	d = &wire.Dispatch{Kind: wire.Register, From: testID(1), Version: v(3, 4), Zone: "z", Activation: 1, Joined: []wire.Named{{ID: testID(2), Version: v(1, 1)}}}
	f.Add(from.codec.AppendDispatch(nil, d, testID(0)))
	to.cfg.Supervisor = true
	f.Fuzz(func(t *testing.T, b []byte) {
		out := Output{}
		to.phase, to.ver = idle, wire.Version{}
		to.Step(0, Input{Kind: Join, Inc: 1}, &out)
		to.Step(1, Input{Kind: Arrived, Data: b}, &out)
		if err := to.invariants(); err != nil {
			t.Error(err)
		}
	})
}
