package engine

import (
	"errors"
	"slices"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/wire"
)

// versioned returns a copy of a message in another version of the protocol.
func versioned(b []byte, version int) []byte {
	b = slices.Clone(b)
	wire.SetVersion(b, version)
	return b
}

// TestOtherVersionDropped: RM-41: datagrams, control messages and orders of an older or newer
// protocol version change nothing at a member. They are counted, and the user gets one event.
func TestOtherVersionDropped(t *testing.T) {
	spec.Covers(t, "RM-41", "RM-A23")
	w, _ := tallied(t, 3, nil, nil)
	w.await(w.send(0, "x"))
	w.run(time.Second)
	h, g := w.hosts[2], w.hosts[0].g
	s := h.m.group.byID[w.hosts[0].m.self].stream
	d := wire.Datagram{Group: testGroup, Version: s.roster.version, Origin: s.number(), Length: 4, Seq: s.head, Count: 1, Size: 4, Stable: s.head, First: s.first}
	state := g.state(wire.OrderState)
	state.Incarnation = h.m.self.Incarnation
	list := g.published()
	list.Version.Counter, list.Incarnation = list.Version.Counter+1, h.m.self.Incarnation
	messages := []struct {
		kind InputKind
		data []byte
	}{
		{Arrival, append(d.AppendTo(nil), "evil"...)},
		{Control, wire.AppendControl(nil, testGroup, s.roster.version, []wire.Entry{s.entry(wire.Stable, s.head+5, 1)})},
		{Instructed, state.AppendTo(nil)},
		{Instructed, list.AppendTo(nil)},
	}
	told, before := 0, *s
	for _, version := range []int{0, 1, wire.ProtocolVersion + 1, 1<<16 - 1} {
		for i, msg := range messages {
			var out Output
			counted := h.m.stats.OtherVersion
			h.m.Step(w.net.Now()+1, Input{Kind: msg.kind, From: hostNID(0), Data: versioned(msg.data, version)}, &out)
			if h.m.stats.OtherVersion != counted+1 {
				t.Errorf("version %d, message %d: %+v", version, i, h.m.stats)
			}
			for _, e := range out.Effects {
				if e.Kind != Refused || e.To != hostNID(0) || !errors.Is(e.Why, ErrVersion) {
					t.Errorf("version %d, message %d: %v", version, i, e.Kind)
				}
				told++
			}
		}
	}
	if told != 1 || s.head != before.head || s.stable != before.stable || h.m.group.latest().version != before.roster.version {
		t.Errorf("told %d times, stable %d, head %d", told, s.stable, s.head)
	}
	deliver(w, h, Arrival, 77, versioned(messages[0].data, 1))
	w.await(w.send(0, "y"))
	w.want("y", w.all()...)
}

// TestOlderMember: RM-41: a manager tells a node of version 1 in that version that it is refused,
// and why. It answers neither refusals, nor inquiries of its own version, nor nodes of later
// versions, whose messages it cannot read.
func TestOlderMember(t *testing.T) {
	spec.Covers(t, "RM-41", "RM-A23")
	w := clocked(t, 3, 1)
	join := wire.Order{Kind: wire.OrderJoin, Group: testGroup, Incarnation: testWall, MTU: 2048}
	report := wire.Order{Kind: wire.OrderReport, Group: testGroup, Incarnation: testWall, Members: []wire.Member{{ID: wire.ID{NID: hostNID(1), Incarnation: 1}, Number: 1}}}
	rival := wire.Order{Kind: wire.OrderState, Flags: wire.OrderReplica, Group: testGroup, Epoch: testWall + 5}
	inquiry := wire.Order{Kind: wire.OrderReport, Group: testGroup, You: wire.ProtocolVersion, Incarnation: testWall}
	refusal := wire.Order{Kind: wire.OrderRefused, Flags: wire.OrderReplica, Group: testGroup, Incarnation: testWall}
	for _, tt := range []struct {
		name    string
		o       *wire.Order
		version int
		admit   admitted
		told    int
		replies int
	}{
		{"a join", &join, 1, nil, 1, 5},
		{"a report with members", &report, 1, nil, 1, 5},
		{"a join of a later version", &join, wire.ProtocolVersion + 1, nil, 1, 0},
		{"another manager", &rival, 1, nil, 1, 0},
		{"an inquiry", &inquiry, 1, nil, 0, 0},
		{"a refusal", &refusal, 1, nil, 0, 0},
		{"a stranger's join", &join, 1, admitted{hostNID(2): true}, 0, 0},
	} {
		g := w.hosts[0].g
		g.admitted, g.complaints = tt.admit, complaints{}
		members, version, told, replies := len(g.members), g.version, 0, 0
		for range 5 {
			var out Output
			g.Step(w.net.Now(), Input{Kind: Instructed, From: hostNID(1), Data: versioned(tt.o.AppendTo(nil), tt.version)}, &out)
			for _, e := range out.Effects {
				switch b := out.Buf[e.Head.Begin:e.Head.End]; {
				case e.Kind == Refused && errors.Is(e.Why, ErrVersion):
					told++
				case e.Kind == DoReport && wire.VersionOf(b) == tt.version:
					r, err := wire.ParseOrder(versioned(b, wire.ProtocolVersion))
					if err != nil || e.To != hostNID(1) || r.Kind != wire.OrderRefused || wire.Refusal(r.You) != wire.RefusedVersion || r.Incarnation != testWall {
						t.Errorf("%s: %+v, %v", tt.name, r, err)
					}
					replies++
				}
			}
		}
		if told != tt.told || replies != tt.replies || len(g.members) != members || g.version != version || g.role != active {
			t.Errorf("%s: told %d times, %d replies, %d members", tt.name, told, replies, len(g.members))
		}
	}
}

// TestOlderManager: RM-41: a node whose manager has version 1, which does not answer messages of
// this version, inquires in version 1 and learns why it does not become a member. The
// user is told once. A manager of this version ignores inquiries: it does not take their sender for a
// node of version 1.
func TestOlderManager(t *testing.T) {
	spec.Covers(t, "RM-41", "RM-A23")
	for _, version := range []int{1, wire.ProtocolVersion} {
		g := NewManager(ManagerConfig{Self: hostNID(0), Incarnation: 1000, Group: testGroup, Managers: []nid.NID{hostNID(0)}})
		m := New(Config{Self: hostNID(5), Incarnation: 7, Group: testGroup, Managers: []nid.NID{hostNID(0)}})
		var out Output
		step := func(now time.Duration, from sim.NodeID, kind InputKind, b []byte) { // the manager hears only its own version
			if b == nil || wire.VersionOf(b) == version {
				b = versioned(append(b, make([]byte, max(0, 8-len(b)))...), wire.ProtocolVersion)
				g.Step(now, Input{Kind: kind, From: hostNID(from), Data: b}, &out)
			}
		}
		step(1, 0, Timer, nil)
		m.Step(1, Input{Kind: Join}, &Output{})
		denied := 0
		for now := 2 * time.Second; now < 12*time.Second; now += 100 * time.Millisecond {
			if version == wire.ProtocolVersion && now < 8*time.Second {
				m.Step(now, Input{}, &Output{}) // no manager runs before 8 s: what m sends is lost
				continue
			}
			var asked Output
			m.Step(now, Input{}, &asked)
			step(now, 0, Timer, nil)
			for _, e := range asked.Effects {
				if e.Kind == Denied {
					denied++
				}
				if e.Kind == DoReport {
					step(now, 5, Instructed, asked.message(&e))
				}
			}
			answers := out
			out = Output{}
			for _, e := range answers.Effects {
				if e.Kind != DoReport || e.To != hostNID(5) {
					continue
				}
				var heard Output
				m.Step(now+1, Input{Kind: Instructed, From: hostNID(0), Data: versioned(answers.message(&e), version)}, &heard)
				for _, e := range heard.Effects {
					if e.Kind == Denied && errors.Is(e.Why, ErrVersion) {
						denied++
					}
				}
			}
		}
		older := version < wire.ProtocolVersion
		if older != errors.Is(m.Status().Refusal, ErrVersion) || older != (denied == 1) || older == (m.state == member) || g.stats.OtherVersion > 0 {
			t.Errorf("version %d: denied %d times, %v, state %v, %+v", version, denied, m.Status().Refusal, m.state, g.stats)
		}
	}
}

// TestOlderManagerRefuses: RM-41: a manager of version 1 that does not know the node, or may not
// answer for the group, refuses the inquiry. A joining node takes this refusal as the reason, too,
// but not a refusal that answers none of its inquiries.
func TestOlderManagerRefuses(t *testing.T) {
	spec.Covers(t, "RM-41", "RM-A23")
	refusal := wire.Order{Kind: wire.OrderRefused, Group: testGroup, Incarnation: 7}
	earlier, manager, other := refusal, refusal, refusal
	earlier.Incarnation, manager.Flags, other.Group = 6, wire.OrderReplica, testGroup+1
	for _, tt := range []struct {
		name   string
		o      *wire.Order
		from   sim.NodeID
		joins  bool
		reason error
	}{
		{"an answer", &refusal, 0, true, ErrVersion},
		{"of an earlier incarnation", &earlier, 0, true, nil},
		{"for a manager", &manager, 0, true, nil},
		{"of another group", &other, 0, true, nil},
		{"of a node that is no manager", &refusal, 1, true, nil},
		{"to a node that does not join", &refusal, 0, false, nil},
	} {
		m := New(Config{Self: hostNID(5), Incarnation: 7, Group: testGroup, Managers: []nid.NID{hostNID(0)}})
		if tt.joins {
			m.Step(1, Input{Kind: Join}, &Output{})
		}
		m.Step(2, Input{Kind: Instructed, From: hostNID(tt.from), Data: versioned(tt.o.AppendTo(nil), 1)}, &Output{})
		if why := m.Status().Refusal; !errors.Is(why, tt.reason) || m.stats.OtherVersion > 0 != (tt.reason != nil) {
			t.Errorf("%s: %v, %+v", tt.name, why, m.stats)
		}
	}
}
