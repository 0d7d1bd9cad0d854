package engine

import (
	"testing"
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnd/lndtest/spec"
)

// TestZoneAboveRoom: a supervisor that has no room for all members of a zone does not ask for the list of all
// members again and again, and its census has the right size of the zone. Once there is room, the supervisor gets
// all members (MS-97, MS-110).
func TestZoneAboveRoom(t *testing.T) {
	spec.Covers(t, "MS-97", "MS-110")
	s := newSystem(t, 1, 1, 7, 3)
	for _, n := range s.supervisors {
		n.m.cfg.MaxMembers = 4
	}
	s.run(8 * time.Second)
	s.dispatches = 0
	s.run(10 * time.Second)
	if s.dispatches > 10*3*2*2 { // three delegates that register, and one answer for each registration, each heartbeat
		t.Errorf("%d messages in 10 s", s.dispatches)
	}
	g := s.guardian(0)
	if n, census := len(g.m.supervisor.zones["zone0"].members), g.m.Census(); n != 4 || len(census) != 1 || census[0].Size != 7 {
		t.Errorf("the supervisor knows %d members, its census is %+v", n, census)
	}
	g.m.cfg.MaxMembers = 7
	s.until(2*time.Second, s.right)
	if n := len(g.m.supervisor.zones["zone0"].members); n != 7 {
		t.Errorf("the supervisor knows %d members when there is room", n)
	}
}

// TestAnswersOfPart: a supervisor knows only some members of a zone, because it has no room for all, or because
// some are still on their way. Its answers to queries, its own and those of other nodes, say how many members the
// zone has, so that they do not look complete (MS-99).
func TestAnswersOfPart(t *testing.T) {
	spec.Covers(t, "MS-99")
	s := newSystem(t, 1, 1, 7, 3)
	for _, n := range s.supervisors {
		n.m.cfg.MaxMembers = 4
	}
	answers := 0
	s.told = func(n *node, e *Event) {
		if e.Kind == Listed {
			if answers++; e.Size != 7 {
				t.Errorf("%s got %d members of %d; the zone has 7", n.id.Name(), len(e.Members), e.Size)
			}
		}
	}
	ask := func() {
		for _, n := range s.supervisors {
			n.step(Input{Kind: QueryZone, Key: "zone0", Number: 7})
		}
		s.run(100 * time.Millisecond)
	}
	s.run(8 * time.Second)
	ask()
	g := s.guardian(0)
	g.m.cfg.MaxMembers = 7
	s.until(2*time.Second, s.right)
	first := g.m.supervisor.zones["zone0"].delegates[0]
	g.step(Input{Kind: DispatchDelivered, Dispatch: &wire.Dispatch{
		Kind: wire.Register, Zone: "zone0", From: first.ID, Version: first.Version, Activation: first.activation, Registration: first.registration,
		Size: first.size, Hash: first.hash, Known: g.m.view.hash, Flags: wire.Whole | wire.Continued, Joined: []wire.Named{first.Named},
	}})
	ask()
	if answers != 6 {
		t.Errorf("%d answers", answers)
	}
}

// TestWholeBacksOff: the supervisor asks for the list of all members again after each list, as it does when the
// parts of the list arrive in a different order. The delegate sends the list at growing intervals. Once the answers of
// a heartbeat have not asked for the list, the delegate sends it at once when it is asked again (MS-97).
func TestWholeBacksOff(t *testing.T) {
	spec.Covers(t, "MS-97")
	s := newSolo(t, 1, Config{Management: []wire.ID{testID(1)}})
	flags, lists, atOnce := wire.Want, 0, 0
	answer := func(d time.Duration) {
		for end := s.now + d; s.now < end; {
			s.now += 10 * time.Millisecond
			s.step(Input{})
			if len(s.out.Dispatches) == 0 {
				continue
			}
			sent := s.out.Dispatches[0].Dispatch
			if sent.Flags&wire.Whole != 0 {
				lists++
			}
			s.step(Input{Kind: DispatchDelivered, Dispatch: &wire.Dispatch{
				Kind: wire.Registered, Zone: "test", From: testID(1), Version: v(1, 1), Registration: sent.Registration, Flags: flags,
			}})
			atOnce += len(s.out.Dispatches)
		}
	}
	answer(5 * time.Minute)
	if lists < 6 || lists > 12 || atOnce > 0 {
		t.Errorf("%d lists in 5 min, %d at once", lists, atOnce)
	}
	flags = 0
	answer(2 * time.Second)
	flags, lists = wire.Want, 0
	answer(1100 * time.Millisecond)
	if lists+atOnce == 0 {
		t.Error("no list after an answer that did not ask for one")
	}
}

// reporter is an active delegate whose messages to the supervisor the test counts.
type reporter struct {
	*solo
	last         wire.Dispatch // latest message to the supervisor
	lists, joins int           // lists of all members, and members in other messages, that were sent
}

func newReporter(t *testing.T) *reporter {
	return &reporter{solo: newSolo(t, 6, Config{Management: []wire.ID{testID(5)}})}
}

// count counts what the last step sent, and reports whether it sent anything.
func (r *reporter) count() bool {
	for i := range r.out.Dispatches {
		if r.last = *r.out.Dispatches[i].Dispatch; r.last.Flags&wire.Whole != 0 {
			r.lists++
		} else {
			r.joins += len(r.last.Joined)
		}
	}
	return len(r.out.Dispatches) > 0
}

// answer delivers an answer of the supervisor.
func (r *reporter) answer(flags wire.DispatchFlags) {
	r.step(Input{Kind: DispatchDelivered, Dispatch: &wire.Dispatch{
		Kind: wire.Registered, Zone: "test", From: testID(5), Version: v(1, 1), Registration: r.last.Registration, Flags: flags,
	}})
	r.count()
}

// TestChangeBesideWhole: a delegate has just sent the list of all members, and is asked for it again. It reports
// changes of the zone within τ, and does not wait until it sends the next list. It sends no further list if an
// answer says that the supervisor knows all members (MS-97).
func TestChangeBesideWhole(t *testing.T) {
	spec.Covers(t, "MS-97")
	r := newReporter(t)
	pass := func(d time.Duration, answers bool) {
		for end := r.now + d; r.now < end; {
			r.now += 10 * time.Millisecond
			r.step(Input{})
			if r.count() && answers {
				r.answer(0)
			}
		}
	}
	pass(3*time.Second, true)
	r.lists = 0
	r.answer(wire.Want)
	if r.lists != 1 {
		t.Fatalf("%d lists", r.lists)
	}
	r.answer(wire.Want) // to a registration before the list
	r.lists, r.joins = 0, 0
	r.alive(2, v(7, 1))
	pass(500*time.Millisecond, false)
	if r.joins != 1 {
		t.Errorf("%d joins are told while the list waits", r.joins)
	}
	r.answer(0)
	pass(5*time.Second, true)
	if r.lists != 0 {
		t.Errorf("%d lists although the supervisor knows all members", r.lists)
	}
}

// TestWholeOvertaken: the zone changes again and again, on a slow way to the supervisor. The changes have priority
// and overtake the list of all members, which lacks them. So the supervisor does not need the next list when a
// list arrives, but needs it after the next change. The delegate sends the list at growing intervals (MS-97).
func TestWholeOvertaken(t *testing.T) {
	spec.Covers(t, "MS-97")
	for _, way := range []time.Duration{100 * time.Millisecond, 3 * time.Second} { // how long a list is on its way
		r := newReporter(t)
		var arrivals []time.Duration
		for i := range 6000 { // a minute
			r.now += 10 * time.Millisecond
			before := r.lists
			switch inc := uint64(i/80 + 1); i % 80 {
			case 0:
				r.alive(2, v(inc, 1))
			case 40:
				r.leave(2, v(inc, 1), 0)
			default:
				r.step(Input{})
			}
			if r.count() && r.lists == before {
				r.answer(wire.Want)
			}
			if len(arrivals) > 0 && r.now == arrivals[0] {
				r.answer(0)
				arrivals = arrivals[1:]
			}
			if r.lists > before {
				arrivals = append(arrivals, r.now+way)
			}
		}
		if r.lists < 4 || r.lists > 8 {
			t.Errorf("%d lists in a minute if one is on its way for %v", r.lists, way)
		}
	}
}

// TestJoinedAndLeft: a member joins and leaves before the delegate reports either. The report lists the member as one
// that left only, because the supervisor removes members that left before it adds those that joined (MS-97).
func TestJoinedAndLeft(t *testing.T) {
	spec.Covers(t, "MS-97")
	r := newReporter(t)
	report := func() (joined, left int) {
		for end := r.now + time.Second; r.now < end; {
			r.now += 10 * time.Millisecond
			if r.step(Input{}); r.count() {
				joined, left = joined+len(r.last.Joined), left+len(r.last.Left)
				r.answer(0)
			}
		}
		return joined, left
	}
	report()
	r.alive(3, v(1, 1)) // reported at once, and the following changes after τ
	r.count()
	r.alive(2, v(1, 1))
	r.alive(4, v(1, 1))
	r.leave(2, v(1, 1), 0)
	if joined, left := report(); joined != 1 || left != 1 {
		t.Errorf("the report lists %d members that joined, and %d that left", joined, left)
	}
	r.leave(3, v(1, 1), 0)
	r.count()
	r.leave(4, v(1, 1), 0)
	r.alive(4, v(2, 1))
	if joined, left := report(); joined != 1 || left != 1 {
		t.Errorf("after a restart, the report lists %d members that joined, and %d that left", joined, left)
	}
}
