package engine

import (
	"slices"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/wire"
)

// search is a manager without state, and the messages that it has sent.
type search struct {
	g   *Manager
	out Output
}

// testID is the member on a host, in the incarnation that the members of these tests have.
func testID(host sim.NodeID) wire.ID { return wire.ID{NID: hostNID(host), Incarnation: 7} }

// newSearch returns a manager without state that has begun. It is active unless there are other managers.
func newSearch(others ...nid.NID) *search {
	self := hostNID(99)
	s := &search{g: NewManager(ManagerConfig{Self: self, Incarnation: 1000, Group: testGroup, Managers: append([]nid.NID{self}, others...)})}
	s.g.Step(0, Input{}, &s.out)
	return s
}

// begin makes the manager hear of members of an earlier manager, and ask them what they know.
func (s *search) begin(hosts ...sim.NodeID) {
	for _, host := range hosts {
		s.told(1, host, &wire.Order{Kind: wire.OrderReport, Epoch: 500, Version: wire.Version{Epoch: 500, Counter: 3}})
	}
}

// told gives the manager a message of a member.
func (s *search) told(now time.Duration, host sim.NodeID, o *wire.Order) {
	o.Group, o.Incarnation, o.MTU = testGroup, 7, 2048
	s.g.Step(now, Input{Kind: Instructed, From: hostNID(host), Data: o.AppendTo(nil)}, &s.out)
}

// answer tells the manager the newest list of a member, and the failures that the member knows.
func (s *search) answer(now time.Duration, host sim.NodeID, list []sim.NodeID, failed ...wire.ID) {
	s.answerOf(now, host, wire.Version{Epoch: 500, Counter: 3}, list, failed...)
}

// answerOf does so for a list of any version.
func (s *search) answerOf(now time.Duration, host sim.NodeID, version wire.Version, list []sim.NodeID, failed ...wire.ID) {
	o := wire.Order{Kind: wire.OrderKnown, Epoch: s.g.epoch, Version: version, Window: uint32(len(list)), Departed: failed}
	for _, m := range list {
		o.Members = append(o.Members, wire.Member{ID: testID(m), Number: uint32(m)})
	}
	o.Usable = o.Version
	s.told(now, host, &o)
}

// wait lets the time pass in which further members may report.
func (s *search) wait() {
	if by := s.g.reportsBy(); len(s.g.collect.probes) > 0 && by > s.g.now {
		s.g.Step(by, Input{}, &s.out)
	}
}

// publishes checks which hosts have a member on the latest list, and which were told that a member of theirs is
// expelled.
func (s *search) publishes(t *testing.T, members, expelled []sim.NodeID) {
	t.Helper()
	s.wait()
	var got, ended []sim.NodeID
	for _, m := range s.g.latest.Members {
		got = append(got, hostID(m.NID))
	}
	for _, e := range s.out.Effects {
		if e.Kind != DoReport {
			continue
		}
		if o, err := wire.ParseOrder(s.out.message(&e)); err == nil && o.Kind == wire.OrderExpelled {
			ended = append(ended, hostID(e.To))
		}
	}
	slices.Sort(got)
	slices.Sort(ended)
	if ended = slices.Compact(ended); !slices.Equal(got, members) || !slices.Equal(ended, expelled) {
		t.Errorf("members %d, want %d; expelled %d, want %d", got, members, ended, expelled)
	}
}

// TestFailedJoinsSearch: RM-2, RM-A8: a node joins while a new manager searches, and one of the
// members counts this very incarnation as failed. The node must join as another member: if it did
// not, messages of the member that counts it as failed could end without an error although the
// node lacks them.
func TestFailedJoinsSearch(t *testing.T) {
	spec.Covers(t, "RM-2", "RM-A8")
	s, list := newSearch(), []sim.NodeID{1, 2, 3}
	s.begin(list...)
	s.told(2, 4, &wire.Order{Kind: wire.OrderJoin})
	s.answer(3, 1, list, testID(4))
	s.answer(3, 2, list)
	s.answer(3, 3, list)
	s.publishes(t, list, []sim.NodeID{4})
	if !slices.Contains(s.g.latest.Departed, testID(4)) {
		t.Errorf("the list names %v as failed", s.g.latest.Departed)
	}
}

// TestMemberReportedFailed: RM-2, RM-A8: a manager whose group consists of new members finds
// members of an earlier manager, and more than half of these count one of the new members as failed.
// Those that count it as failed must join again, because the group goes on with the new member.
func TestMemberReportedFailed(t *testing.T) {
	spec.Covers(t, "RM-2", "RM-A8")
	s, list := newSearch(), []sim.NodeID{1, 2, 3}
	s.told(1, 4, &wire.Order{Kind: wire.OrderJoin})
	s.publishes(t, []sim.NodeID{4}, nil)
	s.begin(list...)
	s.answer(2, 1, list, testID(4))
	s.answer(2, 2, list, testID(4))
	s.answer(2, 3, list)
	s.publishes(t, []sim.NodeID{3, 4}, []sim.NodeID{1, 2})
}

// relisted gives the member of h two lists: one that reports a host, failed, as failed, and then one that has that
// host's member again. The function before gets the version of the first list. It returns the version below which all
// are obsolete, as the second list says. The result is the effects of the second list.
func (w *world) relisted(h *host, failed sim.NodeID, before func(without wire.Version) wire.Version) (effects []Effect) {
	w.t.Helper()
	with, without := w.hosts[0].g.published(), w.hosts[0].g.published()
	id := w.hosts[failed].m.self
	without.Version.Counter++
	without.Members = slices.DeleteFunc(slices.Clone(without.Members), func(m wire.Member) bool { return m.ID == id })
	without.Departed, without.Usable = []wire.ID{id}, without.Version
	with.Version.Counter += 2
	with.Usable, with.Oldest = without.Version, before(without.Version)
	for _, o := range []wire.Order{without, with} {
		o.Incarnation = h.m.self.Incarnation
		var out Output
		h.m.Step(w.net.Now(), Input{Kind: Instructed, From: hostNID(0), Data: o.AppendTo(nil)}, &out)
		effects = out.Effects
	}
	return effects
}

// TestFailedListedAgain: RM-2, RM-A8: a new list names a member that this node counts as failed in an older
// version that is still in use. This node stops being a member: otherwise its messages would not wait for that
// member's acknowledgements, and would end without an error although the member may lack them.
func TestFailedListedAgain(t *testing.T) {
	spec.Covers(t, "RM-2", "RM-A8")
	w, _ := tallied(t, 4, nil, nil)
	h := w.hosts[1]
	effects := w.relisted(h, 3, func(without wire.Version) wire.Version {
		without.Counter--
		return without
	})
	if h.m.state != out || !slices.ContainsFunc(effects, func(e Effect) bool { return e.Kind == Gone }) {
		t.Errorf("it is a %v, its list is %v", h.m.state, h.m.group.latest().version)
	}
}

// TestFailureForgotten: RM-2, RM-A7: a node that counted as failed, and had never become a
// member, is on a list again. All versions in which it counted as failed are obsolete. The member
// that gets the list stays a member, and waits for the acknowledgements of the listed node, even
// if no earlier order has said which versions are obsolete.
func TestFailureForgotten(t *testing.T) {
	spec.Covers(t, "RM-2", "RM-A7")
	w, _ := tallied(t, 4, nil, nil)
	h := w.hosts[1]
	w.relisted(h, 3, func(without wire.Version) wire.Version { return without })
	r := h.m.group.latest()
	if h.m.state != member || len(r.peers) != 4 || r.failed > 0 || slices.ContainsFunc(r.peers, func(p *peer) bool { return p.dead }) {
		t.Errorf("it is a %v, and counts %d of %d members as failed", h.m.state, r.failed, len(r.peers))
	}
}
