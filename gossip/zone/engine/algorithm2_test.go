package engine

import (
	"fmt"
	"testing"
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnd/lndtest/spec"
)

// offer delivers a neighbour's digest of a table; give delivers a neighbour's data of a table.
func (s *solo) offer(i int, owner int, inc, u uint64) {
	s.t.Helper()
	s.hear(i, v(7, 1), wire.Message{Kind: wire.AttributeDigest, Lists: &wire.Lists{Tables: []wire.TableVersion{{Owner: s.ref[owner], Inc: inc, U: u}}}})
}

func (s *solo) give(i int, d wire.TableData) {
	s.t.Helper()
	s.hear(i, v(7, 1), wire.Message{Kind: wire.AttributeData, Lists: &wire.Lists{Data: []wire.TableData{d}}})
}

// withNeighbours makes a machine with four neighbours, and with member 5, which is no
// neighbour.
func withNeighbours(t *testing.T) *solo {
	t.Helper()
	s := newSolo(t, 8, Config{})
	for i := 1; i < 5; i++ {
		s.link(i, v(7, 1))
	}
	s.alive(5, v(7, 1))
	return s
}

func entries(from, to uint64) (list []wire.Attribute) {
	for u := from + 1; u <= to; u++ {
		list = append(list, wire.Attribute{Key: fmt.Sprint("k", u), Value: []byte{byte(u)}, U: u})
	}
	return list
}

// TestAlgorithm2: two nodes compare and exchange attribute tables as Alg. 2 says. The test checks each offer,
// request and answer.
func TestAlgorithm2(t *testing.T) {
	spec.Covers(t, "MS-75", "MS-78", "MS-79", "MS-80", "MS-81", "MS-83", "MS-85", "MS-A16", "MS-A20")
	t.Run("MS-78 one request for what two offer", func(t *testing.T) {
		s := withNeighbours(t)
		s.offer(1, 5, 7, 3)
		if s.count(wire.AttributeRequest) != 1 || s.out.Sends[0].To != s.ref[1] || s.out.Sends[0].Message.Flags&wire.Push != 0 {
			t.Fatalf("sent %+v", s.out.Sends)
		}
		s.offer(2, 5, 7, 3)
		s.offer(2, 5, 7, 2)
		if s.count(wire.AttributeRequest) != 0 {
			t.Error("asked twice")
		}
		s.offer(3, 5, 7, 4) // this version is newer than the requested one, so it is requested, too
		if s.count(wire.AttributeRequest) != 1 {
			t.Error("not asked for newer ones")
		}
	})
	t.Run("MS-75 MS-83 MS-85 MS-A16 data", func(t *testing.T) {
		s := withNeighbours(t)
		s.offer(1, 5, 7, 9)
		s.give(1, wire.TableData{Owner: s.ref[5], Inc: 7, To: 3, Last: true, Entries: entries(0, 3)}) // fewer entries than offered: the owner has reset the table since the offer
		r := s.m.attributes.of[s.ref[5]]
		if len(s.out.Events) != 1 || len(s.out.Events[0].Keys) != 3 || r.u != 3 || r.pending != 3 || r.target != 0 || r.notified != 3 {
			t.Errorf("events %+v, %+v", s.out.Events, r)
		}
		s.give(2, wire.TableData{Owner: s.ref[5], Inc: 7, To: 2, Last: true, Entries: entries(0, 2)})
		s.want() // the offer has an older version: nothing is requested
		s.offer(2, 5, 7, 4)
		if s.count(wire.AttributeRequest) != 1 {
			t.Error("MS-A16: nothing gets through any more")
		}
	})
	t.Run("MS-79 MS-80 MS-81 answers", func(t *testing.T) {
		s := withNeighbours(t)
		s.give(1, wire.TableData{Owner: s.ref[5], Inc: 7, To: 6, Last: true, Entries: entries(0, 6)})
		ask := func(flags wire.Flags, u uint64) []wire.TableData {
			s.hear(2, v(7, 1), wire.Message{Kind: wire.AttributeRequest, Flags: flags, Lists: &wire.Lists{Tables: []wire.TableVersion{{Owner: s.ref[5], Inc: 7, U: u}}}})
			if len(s.out.Sends) == 0 {
				return nil
			}
			if s.out.Sends[0].To != s.ref[2] {
				t.Errorf("answer to %v", s.out.Sends[0].To)
			}
			return s.out.Sends[0].Message.Lists.Data
		}
		if d := ask(0, 2); len(d) != 1 || d[0].From != 2 || d[0].To != 6 || len(d[0].Entries) != 4 || !d[0].Last {
			t.Errorf("answer %+v", d)
		}
		if d := ask(0, 6); len(d) != 1 || d[0].To != 0 || d[0].Owner != s.ref[5] { // the answer says that there is nothing newer: ⟨p, ⊥⟩
			t.Errorf("nothing newer: %+v", d)
		}
		if d := ask(wire.Push, 6); d != nil { // no answer to a push for which there is no data (MS-A20)
			t.Errorf("nothing newer, push: %+v", d)
		}
	})
}

// TestAlgorithm2Unanswered: if a neighbour has nothing newer, is lost or does not answer, the node requests
// the table from all its other neighbours, once.
func TestAlgorithm2Unanswered(t *testing.T) {
	spec.Covers(t, "MS-82", "MS-84", "MS-87", "MS-A18", "MS-A21")
	t.Run("MS-82 MS-84 nothing newer any more", func(t *testing.T) {
		s := withNeighbours(t)
		s.offer(1, 5, 7, 3)
		s.give(1, wire.TableData{Owner: s.ref[5], Inc: 7, Last: true})
		sent := s.pass(s.m.cfg.Aggregation)
		if n := countKind(sent, wire.AttributeRequest); n != 4 {
			t.Errorf("%d were asked, want all neighbours, once", n)
		}
		for _, m := range sent {
			if m.Message.Kind == wire.AttributeRequest && m.Message.Flags&wire.Push == 0 {
				t.Error("no push")
			}
		}
	})
	t.Run("MS-87 MS-A21 the neighbour is lost", func(t *testing.T) {
		s := withNeighbours(t)
		s.offer(1, 5, 7, 3)
		s.leave(1, v(7, 1), 0)
		if r := s.m.attributes.of[s.ref[5]]; r.target != 0 || r.pending != 0 {
			t.Errorf("pending %+v", r)
		}
		if n := countKind(s.pass(s.m.cfg.Aggregation), wire.AttributeRequest); n != 3 {
			t.Errorf("%d were asked", n)
		}
	})
	t.Run("MS-A18 no answer", func(t *testing.T) {
		s := withNeighbours(t)
		s.offer(1, 5, 7, 3)
		if n := countKind(s.pass(4*s.m.cfg.Aggregation), wire.AttributeRequest); n != 4 {
			t.Errorf("%d were asked", n)
		}
	})
}

// TestAlgorithm2Rounds checks which neighbours get a change of attributes, and in which round.
func TestAlgorithm2Rounds(t *testing.T) {
	spec.Covers(t, "MS-76", "MS-77", "MS-86")
	t.Run("MS-76 MS-77 the second round is silent", func(t *testing.T) {
		s := withNeighbours(t)
		s.pass(time.Second)
		s.step(Input{Kind: Set, Key: "a", Value: []byte("b")})
		sent := s.pass(s.m.cfg.Aggregation)
		if n := countKind(sent, wire.AttributeDigest); n != 4 {
			t.Errorf("%d digests", n)
		}
		if n := countKind(s.pass(time.Second), wire.AttributeDigest); n != 0 {
			t.Errorf("%d digests later", n)
		}
	})
	t.Run("MS-86 a new neighbour", func(t *testing.T) {
		s := withNeighbours(t)
		s.step(Input{Kind: Set, Key: "a", Value: []byte("b")})
		s.give(1, wire.TableData{Owner: s.ref[5], Inc: 7, To: 6, Last: true, Entries: entries(0, 6)})
		s.hear(6, v(7, 1), wire.Message{Kind: wire.LinkRequest, Roles: wire.Random})
		if s.count(wire.AttributeDigest) != 1 || len(s.out.Sends[2].Message.Lists.Tables) != 2 {
			t.Errorf("sent %+v", s.out.Sends)
		}
	})
}

// TestAlgorithm2Owners checks from which incarnations of their owner a node accepts attributes.
func TestAlgorithm2Owners(t *testing.T) {
	spec.Covers(t, "MS-70", "MS-88", "MS-90", "MS-A17", "MS-A18")
	t.Run("MS-88 MS-90 MS-A17 lives", func(t *testing.T) {
		s := withNeighbours(t)
		s.give(1, wire.TableData{Owner: s.ref[5], Inc: 7, To: 6, Last: true, Entries: entries(0, 6)})
		s.alive(5, v(8, 1)) // the owner has restarted, and has not written as often as in its last incarnation
		if list, u := s.m.Attributes(s.ref[5]); len(list) > 0 || u > 0 {
			t.Errorf("%d attributes of the life before", len(list))
		}
		s.offer(2, 5, 7, 6) // a slow neighbour still has the old attributes
		if s.count(wire.AttributeRequest) > 0 {
			t.Error("asked for a dead life's")
		}
		s.give(2, wire.TableData{Owner: s.ref[5], Inc: 7, To: 6, Last: true, Entries: entries(0, 6)})
		s.offer(2, 5, 8, 1)
		if s.count(wire.AttributeRequest) != 1 {
			t.Error("not asked for the new life's")
		}
		s.give(2, wire.TableData{Owner: s.ref[5], Inc: 8, To: 1, Last: true, Entries: entries(0, 1)})
		if list, u := s.m.Attributes(s.ref[5]); len(list) != 1 || u != 1 || s.m.stats.StaleData != 1 {
			t.Errorf("%d attributes, version %d", len(list), u)
		}
		s.leave(5, v(8, 1), 0)
		if _, u := s.m.Attributes(s.ref[5]); u != 0 {
			t.Error("those of who left stay")
		}
	})
	t.Run("MS-90 MS-A18 offers before the owner is known", func(t *testing.T) {
		s := withNeighbours(t)
		s.offer(2, 6, 9, 4)
		if s.count(wire.AttributeRequest) > 0 {
			t.Error("asked for a stranger's")
		}
		s.alive(6, v(9, 1))
		if s.count(wire.AttributeRequest) != 1 || s.out.Sends[len(s.out.Sends)-1].To != s.ref[2] {
			t.Errorf("sent %+v", s.out.Sends)
		}
		for i := range uint64(2 * maxWaiting) {
			r, err := s.m.cfg.Table.AddShort(5000 + i)
			if err != nil {
				t.Fatal(err)
			}
			s.hear(2, v(7, 1), wire.Message{Kind: wire.AttributeDigest, Lists: &wire.Lists{Tables: []wire.TableVersion{{Owner: r, Inc: 9, U: 4}}}})
		}
		if n := len(s.m.attributes.waiting); n > maxWaiting || s.m.stats.WaitingFull == 0 {
			t.Errorf("%d offers wait", n)
		}
	})
	t.Run("MS-A18 who comes back is asked for everywhere", func(t *testing.T) {
		s := withNeighbours(t)
		s.removed(5, v(7, 1))
		s.pass(s.m.cfg.Aggregation)
		s.alive(5, v(7, 2))
		if n := countKind(s.pass(s.m.cfg.Aggregation), wire.AttributeRequest); n != 4 {
			t.Errorf("%d were asked", n)
		}
	})
	t.Run("MS-70 nobody else writes ours", func(t *testing.T) {
		s := withNeighbours(t)
		s.step(Input{Kind: Set, Key: "a", Value: []byte("b")})
		s.give(1, wire.TableData{Owner: s.ref[0], Inc: 10, To: 6, Last: true, Entries: entries(0, 6)})
		if list, u := s.m.Attributes(s.m.self); len(list) != 1 || u != 1 {
			t.Errorf("%d attributes, version %d", len(list), u)
		}
		s.offer(1, 0, 10, 6) // another node has newer attributes of this node: they would hide this node's writes
		s.want(Event{Kind: Refuted, Node: s.ref[0], Version: v(11, 1)})
	})
}
