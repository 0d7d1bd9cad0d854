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
// parts of the list arrive in a different order. The delegate sends the list at growing intervals. Once an answer
// has not asked for the list, the delegate sends it within a heartbeat when it is asked again (MS-97).
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
	answer(2500 * time.Millisecond)
	if lists+atOnce == 0 {
		t.Error("no list after an answer that did not ask for one")
	}
}

// TestChangeBesideWhole: a delegate has just sent the list of all members, and is asked for it again. It reports
// changes of the zone within τ, and does not wait until it sends the next list. It sends no further list if an
// answer says that the supervisor knows all members (MS-97).
func TestChangeBesideWhole(t *testing.T) {
	spec.Covers(t, "MS-97")
	s := newSolo(t, 6, Config{Management: []wire.ID{testID(5)}})
	var last wire.Dispatch
	lists, joins := 0, 0
	count := func() (sent bool) {
		for i := range s.out.Dispatches {
			if last = *s.out.Dispatches[i].Dispatch; last.Flags&wire.Whole != 0 {
				lists++
			} else {
				joins += len(last.Joined)
			}
		}
		return len(s.out.Dispatches) > 0
	}
	answer := func(flags wire.DispatchFlags) {
		s.step(Input{Kind: DispatchDelivered, Dispatch: &wire.Dispatch{
			Kind: wire.Registered, Zone: "test", From: testID(5), Version: v(1, 1), Registration: last.Registration, Flags: flags,
		}})
		count()
	}
	pass := func(d time.Duration, answers bool) {
		for end := s.now + d; s.now < end; {
			s.now += 10 * time.Millisecond
			s.step(Input{})
			if count() && answers {
				answer(0)
			}
		}
	}
	pass(3*time.Second, true)
	lists = 0
	answer(wire.Want)
	if lists != 1 {
		t.Fatalf("%d lists", lists)
	}
	answer(wire.Want) // to a registration before the list
	lists, joins = 0, 0
	s.alive(2, v(7, 1))
	pass(500*time.Millisecond, false)
	if joins != 1 {
		t.Errorf("%d joins are told while the list waits", joins)
	}
	answer(0)
	pass(5*time.Second, true)
	if lists != 0 {
		t.Errorf("%d lists although the supervisor knows all members", lists)
	}
}
