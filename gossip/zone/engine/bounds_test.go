package engine

import (
	"testing"
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnd/lndtest/spec"
)

// TestForgedReports: nodes that suspect all others cause reports, whose memory is bounded. A
// node ignores reports that others make in its own name (MS-36, MS-A1).
func TestForgedReports(t *testing.T) {
	spec.Covers(t, "MS-36", "MS-A1")
	s := acquainted(t, 400, Config{Threshold: 3, Successors: 3})
	for by := 1; by < 400; by++ {
		var all []wire.Suspicion
		for i := 1; i < 400; i++ {
			all = append(all, wire.Suspicion{Reporter: s.ref[by], Suspect: s.ref[i], Version: v(7, 3)})
		}
		s.update(wire.Lists{Suspicions: all})
	}
	most := (reportsPerMember+s.m.mostReports())*s.m.Len() + minReports
	if s.m.suspicions.total > most || s.m.stats.TooManyReports == 0 {
		t.Errorf("%d reports, at most %d wanted; %d refused", s.m.suspicions.total, most, s.m.stats.TooManyReports)
	}
	one := acquainted(t, 30, Config{})
	for i := 2; i < 30; i++ {
		one.update(wire.Lists{Suspicions: []wire.Suspicion{{Reporter: one.ref[0], Suspect: one.ref[i], Version: v(7, 3)}, {Reporter: one.ref[1], Suspect: one.ref[i], Version: v(7, 3)}}})
	}
	if one.m.Len() < 16 || one.m.suspicions.open[one.m.self] != 0 {
		t.Errorf("%d members, %d reports in the name of this node", one.m.Len(), one.m.suspicions.open[one.m.self])
	}
}

// TestRefusedForEver: a peer refuses each request for a link, because it has removed this node
// or has too many neighbours. This node repeats the request only rarely, raises its version at
// most once, and does not suspect the peer (MS-A12).
func TestRefusedForEver(t *testing.T) {
	spec.Covers(t, "MS-A12")
	for _, answer := range []wire.Message{
		{Kind: wire.LinkRefuse, Reason: wire.Removed, AboutVersion: v(10, 1)},
		{Kind: wire.LinkRefuse, Reason: wire.Busy},
	} {
		s := newSolo(t, 2, Config{})
		s.alive(1, v(7, 1))
		asked := 0
		for range 12_000 { // 12,000 steps are a minute
			requests := s.count(wire.LinkRequest)
			for range requests {
				asked++
				s.hear(1, v(7, 1), answer)
				asked += s.count(wire.LinkRequest)
			}
			s.now += 5 * time.Millisecond
			s.step(Input{})
		}
		if asked < 3 || asked > 12 || s.m.stats.Filed > 0 || s.m.ver.Minor > 2 {
			t.Errorf("%v: asked %d times in a minute, filed %d, version %v", answer.Reason, asked, s.m.stats.Filed, s.m.ver)
		}
	}
}

// TestNoRoom: a node for which the view has no room gets an answer that says so, and no link.
func TestNoRoom(t *testing.T) {
	s := acquainted(t, 4, Config{MaxMembers: 4})
	r, err := s.m.cfg.Table.Add(testID(4))
	if err != nil {
		t.Fatal(err)
	}
	s.ref = append(s.ref, r)
	s.hear(4, v(7, 1), wire.Message{Kind: wire.LinkRequest, Roles: wire.Successor})
	if s.m.stats.ViewFull == 0 || len(s.out.Sends) != 1 || s.out.Sends[0].Message.Reason != wire.Busy {
		t.Errorf("%d left out, sent %+v", s.m.stats.ViewFull, s.out.Sends)
	}
	s.hear(1, v(7, 3), wire.Message{Kind: wire.LinkRequest})
	if s.m.links.get(s.ref[1]) != nil && s.m.links.get(s.ref[1]).mine == 0 {
		t.Error("there is a link that nobody wants")
	}
}

// TestBoundedAnswers: a node that requests the whole view again and again gets it once per
// heartbeat (MS-A9). If a node lists the same members again and again, which this node has
// removed, this node queues one request for each of them (MS-A7).
func TestBoundedAnswers(t *testing.T) {
	spec.Covers(t, "MS-A7", "MS-A9")
	s := acquainted(t, 40, Config{})
	s.link(1, v(7, 3))
	sent := 0
	for range 100 {
		s.hear(1, v(7, 3), wire.Message{Kind: wire.Base, Flags: wire.Repair | wire.Ask, Lists: &wire.Lists{}})
		sent += s.count(wire.Base)
	}
	if sent != 1 {
		t.Errorf("%d answers at once", sent)
	}
	var there []wire.Member
	for i := 2; i < 40; i++ {
		there = append(there, wire.Member{Node: s.ref[i], Version: v(7, 3)})
		s.removed(i, v(7, 3))
	}
	for range 50 {
		s.hear(1, v(7, 3), wire.Message{Kind: wire.DiscoveryReply, Flags: wire.Healing | wire.Third, Lists: &wire.Lists{Alive: there}})
	}
	if n := len(s.m.discovery.healing); n == 0 || n > 38 {
		t.Errorf("%d are to be asked", n)
	}
}

// TestWaitingOffers: offers of attributes of nodes that never join are dropped for newer ones
// (MS-A18).
func TestWaitingOffers(t *testing.T) {
	spec.Covers(t, "MS-A18")
	s := newSolo(t, maxWaiting+20, Config{})
	s.link(1, v(7, 1))
	for i := 2; i < maxWaiting+12; i++ {
		s.hear(1, v(7, 1), wire.Message{Kind: wire.AttributeDigest, Lists: &wire.Lists{Tables: []wire.TableVersion{{Owner: s.ref[i], Inc: 7, U: 1}}}})
	}
	if n := len(s.m.attributes.waiting); n != maxWaiting || s.m.stats.WaitingFull != 10 {
		t.Errorf("%d wait, %d left out", n, s.m.stats.WaitingFull)
	}
	s.alive(maxWaiting+11, v(7, 1))
	if s.count(wire.AttributeRequest) != 1 {
		t.Error("the newest offer was not kept")
	}
}

// TestHighestIncarnation: an incarnation so high that its owner could not refute it is
// refused (MS-A2).
func TestHighestIncarnation(t *testing.T) {
	spec.Covers(t, "MS-A2")
	s := acquainted(t, 4, Config{Wall: wire.MaxIncarnation - 5})
	s.alive(2, v(wire.MaxIncarnation, 1))
	s.is(2, inView, v(7, 3))
	s.suspicion(1, 0, v(wire.MaxIncarnation, 1))
	s.suspicion(1, 0, v(wire.MaxIncarnation-1, 1<<32-1))
	if !s.m.ver.IsValid() {
		t.Errorf("version %v", s.m.ver)
	}
	if err := (&Config{Zone: "z", Self: testID(0), Ahead: 1 << 63}); func() error { _, e := err.Filled(); return e }() == nil {
		t.Error("incarnations can be ahead of the clock by more than there are")
	}
}

// TestStrangerHeard: a node gets a message from a member that has left, and of whose id it
// knows only the short form. It answers to the NID that the message came from (MS-52).
func TestStrangerHeard(t *testing.T) {
	spec.Covers(t, "MS-52")
	s := newSolo(t, 2, Config{Wire: true})
	table := NewTable(9)
	other := wire.Codec{Names: table, Zone: s.m.codec.Zone, MaxBytes: wire.MaxMessage}
	stranger, err := table.Add(testID(77))
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.m.cfg.Table.AddShort(testID(77).Short())
	if err != nil {
		t.Fatal(err)
	}
	s.update(wire.Lists{Leaves: []wire.Departure{{Node: r, Version: v(7, 1), Code: 0}}})
	for _, msg := range []wire.Message{
		{Kind: wire.Heartbeat},
		{Kind: wire.AttributeDigest, Lists: &wire.Lists{Tables: []wire.TableVersion{{Owner: stranger, Inc: 7, U: 1}}}},
	} {
		msg.From, msg.Version = stranger, v(7, 1)
		out := Output{Sends: []Send{{Message: msg, short: s.m.cfg.Table.Short(s.m.self)}}}
		speaker := Machine{cfg: Config{Table: table, Wire: true}, codec: other, out: &out}
		speaker.encode(0)
		s.step(Input{Kind: Arrived, Data: out.Buf, Peer: testID(77).Endpoints()[0]})
		for i := range s.out.Sends {
			if to := &s.out.Sends[i]; to.To != 0 || to.NID != testID(77).Endpoints()[0] {
				t.Errorf("%v is answered to %d at %v", msg.Kind, to.To, to.NID)
			}
		}
		if msg.Kind == wire.Heartbeat && s.count(wire.LinkRefuse) != 1 {
			t.Errorf("sent %+v, refused %d", s.out.Sends, s.m.stats.Refusals())
		}
	}
}
