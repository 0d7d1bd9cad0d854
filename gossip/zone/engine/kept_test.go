package engine

import (
	"testing"
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnd/lndtest/spec"
)

// TestCertificatesAgreed: a node keeps the death certificate of a deleted attribute, however old it
// is, as long as one neighbour has a different table, because that table could contain the deleted
// key (MS-A22).
func TestCertificatesAgreed(t *testing.T) {
	spec.Covers(t, "MS-A22")
	s := withNeighbours(t)
	s.leave(5, v(7, 1), 0) // node 5 has to leave: it would become a neighbour, and does not answer
	s.step(Input{Kind: Set, Key: "a"})
	s.step(Input{Kind: Delete, Key: "a"})
	beats := func(d time.Duration, behind uint64) {
		for end := s.now + d; s.now < end; s.pass(time.Second) {
			for i := 1; i < 5; i++ {
				tables := s.m.attributes.hash
				if i == 3 {
					tables ^= behind
				}
				s.hear(i, v(7, 1), wire.Message{Kind: wire.Heartbeat, Hash: s.m.view.hash, Tables: tables})
			}
		}
	}
	own := s.m.attributes.of[s.m.self]
	beats(deathAge+time.Minute, 1)
	if own.deaths != 1 || own.floor != 0 {
		t.Errorf("%d certificates, floor %d, while a neighbour has other tables", own.deaths, own.floor)
	}
	beats(5*time.Second, 0)
	if own.deaths != 0 || own.floor != 2 {
		t.Errorf("%d certificates, floor %d, when all have the same", own.deaths, own.floor)
	}
}

// TestRefutedOlder: a version of a node refutes reports about older versions, but not about the
// same version, which the reporter has seen (MS-43).
func TestRefutedOlder(t *testing.T) {
	spec.Covers(t, "MS-43")
	s := suspicions{index: map[wire.Ref]int{5: 0}, open: make(map[wire.Ref]int), list: []suspect{{node: 5}}, total: 5}
	for i, version := range []wire.Version{v(7, 2), v(7, 3), v(7, 4), v(6, 9), v(8, 1)} {
		by := wire.Ref(10 + i)
		s.list[0].reports = append(s.list[0].reports, report{by: by, version: version})
		s.open[by] = 1
	}
	s.refuted(5, v(7, 3))
	if r := s.on(5); len(r) != 3 || r[0].by != 11 || r[1].by != 12 || r[2].by != 14 || s.total != 3 {
		t.Errorf("left %v", r)
	}
}

// TestRemovedIsTold: a neighbour that is removed because of reports gets a message with the version
// that it must refute. It therefore returns sooner than if it had to notice the removal itself.
// A neighbour that said goodbye, and a member that is no neighbour, get no such message.
func TestRemovedIsTold(t *testing.T) {
	s := withNeighbours(t)
	told := func() (list []Send) {
		for _, m := range s.out.Sends {
			if m.Message.Kind == wire.LinkRefuse && m.Message.Reason == wire.Removed {
				list = append(list, m)
			}
		}
		return list
	}
	s.suspicion(3, 2, v(7, 1))
	s.suspicion(4, 2, v(7, 1))
	s.want(Event{Kind: Left, Node: s.ref[2], Version: v(7, 1), Cause: Dead})
	if l := told(); len(l) != 1 || l[0].To != s.ref[2] || l[0].Message.About != s.ref[2] || l[0].Message.AboutVersion != v(7, 1) {
		t.Errorf("told %+v", l)
	}
	s.removed(3, v(7, 1))
	if l := told(); len(l) != 1 || l[0].To != s.ref[3] {
		t.Errorf("corrected: told %+v", l)
	}
	s.leave(4, v(7, 1), 0)
	if l := told(); len(l) != 0 {
		t.Errorf("said: told %+v", l)
	}
	s.suspicion(1, 5, v(7, 1)) // node 5, which is removed, is not a neighbour
	s.suspicion(0, 5, v(7, 1))
	if l := told(); len(l) != 0 {
		t.Errorf("no neighbour: told %+v", l)
	}
}
