package engine

import (
	"math"
	"testing"
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnd/lndtest/spec"
)

// unreachable makes all sends of the last step to a node fail for a reason of this host.
func (s *solo) unreachable(i int) {
	s.t.Helper()
	for _, send := range s.out.Sends {
		if send.To == s.ref[i] {
			s.step(Input{Kind: Failed, Node: s.ref[i], Local: true})
			return
		}
	}
}

// TestPhantom: a member that this node never heard, and that it cannot reach for a local reason
// such as a missing network, is suspected after some tries, because the member may not exist. A
// member that was heard before is not suspected for such a reason (MS-A1).
func TestPhantom(t *testing.T) {
	spec.Covers(t, "MS-A1")
	for _, met := range []bool{false, true} {
		s := newSolo(t, 2, Config{})
		if s.alive(1, v(7, 1)); met {
			s.link(1, v(7, 1))
			s.hear(1, v(7, 1), wire.Message{Kind: wire.Heartbeat})
		}
		for end := s.now + time.Minute; s.now < end && s.m.view.has(s.ref[1]); s.now += 5 * time.Millisecond {
			s.step(Input{})
			s.unreachable(1)
			for _, l := range s.m.Links() {
				if l.NeverHeard == met || !met && l.Heard != 0 {
					t.Fatalf("heard before: %v, and the link says %+v", met, l)
				}
			}
		}
		if s.m.view.has(s.ref[1]) != met || (s.m.stats.Filed > 0) == met {
			t.Errorf("heard before: %v: member %v, %d reports filed", met, s.m.view.has(s.ref[1]), s.m.stats.Filed)
		}
	}
}

// phantom adds to the views of a zone a node that no member can reach.
func phantom(w *world) wire.ID {
	id := testID(len(w.nodes) + 1)
	w.stray = func(from *node, to wire.ID) {
		incarnation := from.incarnation
		w.after(w.latency, func() { from.input(incarnation, Input{Kind: Failed, Local: true}, to) })
	}
	n := w.nodes[0]
	r, err := n.m.cfg.Table.Add(id)
	if err != nil {
		w.t.Fatal(err)
	}
	from := n.m.Table().Lookup(w.nodes[1].id)
	n.step(Input{Kind: Delivered, Message: &wire.Message{
		Kind: wire.Update, From: from, Version: w.nodes[1].m.Version(), Lists: &wire.Lists{Alive: []wire.Member{{Node: r, Version: v(5, 1)}}},
	}})
	return id
}

// members returns the number of nodes that have the node with an id in their views.
func (w *world) members(id wire.ID) (count int) {
	for _, n := range w.nodes {
		if _, is := n.m.Has(n.m.Table().Lookup(id)); is {
			count++
		}
	}
	return count
}

// TestPhantomGoes: a zone removes a node that never existed, without an administrator's help, and suspects no
// other node because of it.
func TestPhantomGoes(t *testing.T) {
	w := booted(t, 1, 16, Config{})
	id := phantom(w)
	w.until(10*time.Second, func() bool { return w.members(id) == len(w.nodes) })
	w.until(2*time.Minute, func() bool { return w.members(id) == 0 })
	w.run(time.Minute)
	if w.members(id) > 0 || !w.agree() || w.wrongly > 0 {
		t.Errorf("%d take it for a member, views agree %v, %d removed that live", w.members(id), w.agree(), w.wrongly)
	}
}

// TestRemove: an administrator removes a node at one member, and all others follow at once. The
// node does not come back, unless it runs, as in the second case.
func TestRemove(t *testing.T) {
	w := booted(t, 2, 16, Config{})
	id := phantom(w)
	w.until(10*time.Second, func() bool { return w.members(id) == len(w.nodes) })
	at := w.nodes[3]
	at.step(Input{Kind: Remove, Node: at.m.Table().Lookup(id)})
	w.until(2*time.Second, func() bool { return w.members(id) == 0 })
	for _, n := range w.nodes {
		x := n.m.Explain(id)
		if x.Gone == nil || x.Gone.Code != CodeRemoved || len(x.Suspicions) > 0 {
			t.Errorf("%v says %+v", n.id.Name(), x)
		}
	}
	w.run(time.Minute)
	living := w.nodes[9]
	at.step(Input{Kind: Remove, Node: at.m.Table().Lookup(living.id)})
	w.until(5*time.Second, w.agree)
	w.run(time.Minute)
	if w.members(id) > 0 || !w.agree() {
		t.Errorf("%d take it for a member, views agree %v", w.members(id), w.agree())
	}
}

// TestRemoveUnknown: Remove refuses this node itself, and nodes that are not members.
func TestRemoveUnknown(t *testing.T) {
	s := newSolo(t, 4, Config{})
	s.alive(1, v(7, 1))
	for _, r := range []wire.Ref{s.ref[0], s.ref[2], 0} {
		s.step(Input{Kind: Remove, Node: r})
		s.want()
	}
	s.pass(time.Second)
	s.step(Input{Kind: Remove, Node: s.ref[1]})
	s.want(Event{Kind: Left, Node: s.ref[1], Version: v(7, 1), Cause: Said, Code: CodeRemoved})
	s.delta(0, 1, 0)
	s.alive(1, v(7, 1))
	s.is(1, inHistory, v(7, 1))
	s.alive(1, v(7, 2))
	s.is(1, inView, v(7, 2))
}

// TestRefutedForEver: other nodes report later incarnations of this node. However often these
// reports come, this node's own incarnation rises by at most the time by which clocks may
// differ. So others still accept the next incarnation, which begins above that number (MS-A2).
func TestRefutedForEver(t *testing.T) {
	spec.Covers(t, "MS-A2")
	const wall, ahead = 1 << 60, 1 << 44
	s := acquainted(t, 4, Config{Wall: wall, Ahead: ahead})
	say := func(at wire.Version) {
		s.suspicion(1, 0, at)
		s.leave(0, at, 0)
		s.alive(0, at)
		s.removed(0, at)
	}
	for range 1000 {
		say(v(s.m.ver.Inc+ahead, math.MaxUint32))
		say(v(s.m.ver.Inc, math.MaxUint32))
		say(v(s.m.ver.Inc+1, 1))
	}
	for bit := range 64 {
		say(v(1<<bit, 1))
		say(v(wall+ahead+1<<bit, 1))
	}
	if s.m.ver.Inc > wall+ahead+2*maxSkew {
		t.Errorf("the incarnation is %d, %d ahead of the clock", s.m.ver.Inc, s.m.ver.Inc-wall)
	}
	next := s.m.ver.Inc + 1
	s.step(Input{Kind: Leave})
	s.step(Input{Kind: Join, Inc: next})
	if s.m.ver != v(next, 1) || s.m.stats.BadJoins > 0 {
		t.Errorf("the next life is %v", s.m.ver)
	}
}

// TestOwnerOutbids: a node refutes every version of itself that others accept, also if its
// clock is some seconds behind theirs (MS-A2).
func TestOwnerOutbids(t *testing.T) {
	spec.Covers(t, "MS-A2")
	const behind, ahead, wall = uint64(4 * time.Second), 1 << 44, 1 << 60
	others, owner := acquainted(t, 4, Config{Wall: wall, Ahead: ahead}), acquainted(t, 4, Config{Wall: wall - behind, Ahead: ahead})
	for _, at := range []uint64{wall, wall + ahead/2, wall + ahead - behind, wall + ahead - 1, wall + ahead} {
		others.alive(2, v(at, 7))
		others.is(2, inView, v(at, 7))
		if owner.alive(0, v(at, 7)); !v(at, 7).Less(owner.m.ver) {
			t.Errorf("%d ahead of the others: the owner stays at %v", at-wall, owner.m.ver)
		}
	}
}

// TestFarAheadIsTold: an incarnation that is too far ahead is refused. Each refusal is counted,
// and refusals are reported once a minute in all, whatever sender and owner they have (MS-A2).
func TestFarAheadIsTold(t *testing.T) {
	spec.Covers(t, "MS-A2")
	s := acquainted(t, 4, Config{})
	told := 0
	const times = 100
	for range times {
		for _, say := range []func(){
			func() { s.alive(2, v(1<<62, 1)) },
			func() { s.leave(2, v(1<<62, 1), 0) },
			func() { s.suspicion(1, 3, v(1<<62, 1)) },
			func() { s.suspicion(1, 0, v(1<<62, 1)) },
		} {
			say()
			for _, e := range s.out.Events {
				if e.Kind == FarAhead && e.Version == v(1<<62, 1) {
					told++
				}
			}
		}
		s.now += time.Second
	}
	if told != 2 || s.m.stats.TooFarAhead != 4*times {
		t.Errorf("told %d times in %d s, counted %d", told, times, s.m.stats.TooFarAhead)
	}
}

// TestForgedLaterIncarnation: a member reports an incarnation that a node never had. The node
// loses nothing for long: it takes a higher number, and all others get its attributes again,
// even after a restart of the node (MS-A2, MS-A17).
func TestForgedLaterIncarnation(t *testing.T) {
	spec.Covers(t, "MS-A2", "MS-A17")
	for _, later := range []uint64{1, 1000, 1 << 40, 1 << 43} {
		w := booted(t, later, 12, Config{})
		victim, liar := w.nodes[5], w.nodes[0]
		write := func() { victim.step(Input{Kind: Set, Key: "role", Value: []byte("mds")}) }
		seen := func() bool {
			for _, n := range w.nodes {
				list, _ := n.m.Attributes(n.m.Table().Lookup(victim.id))
				if len(list) != 1 || string(list[0].Value) != "mds" {
					return false
				}
			}
			return w.agree()
		}
		write()
		w.until(5*time.Second, seen)
		r := liar.m.Table().Lookup(victim.id)
		from := liar.m.Table().Lookup(w.nodes[1].id)
		liar.step(Input{Kind: Delivered, Message: &wire.Message{
			Kind: wire.Update, From: from, Version: w.nodes[1].m.Version(), Lists: &wire.Lists{Alive: []wire.Member{{Node: r, Version: v(victim.m.ver.Inc+later, 9)}}},
		}})
		w.until(5*time.Second, func() bool { return seen() && victim.m.ver.Inc > later })
		victim.kill()
		w.run(time.Second)
		victim.start()
		write()
		w.until(20*time.Second, seen)
	}
}
