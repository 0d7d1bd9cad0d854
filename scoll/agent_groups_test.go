package scoll_test

import (
	"errors"
	"testing"
	"time"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/simlnd"
	"ulnet/scoll"
)

// TestOutOfBandIsLocal: SC-21, SC-23, SC-A23: an out-of-band group is created without a
// message, if the service maps such groups.
func TestOutOfBandIsLocal(t *testing.T) {
	spec.Covers(t, "SC-21", "SC-23", "SC-A23")
	s := newStacks(t, 4, nil)
	before := s.fabric.Stats().Sent
	if _, err := s.nodes[0].agent.OOBGroup(service, "x", scoll.OOBID{}, scoll.Tree{}, 5); err != nil {
		t.Error(err)
	}
	s.run(time.Second)
	if sent := s.fabric.Stats().Sent; sent != before {
		t.Errorf("%d packets", sent-before)
	}
	plain := s.nodes[0].service()
	plain.ID, plain.MapGroup = 5, nil
	if err := s.nodes[0].agent.RegisterService(plain); err != nil {
		t.Error(err)
	}
	if _, err := s.nodes[0].agent.OOBGroup(5, "x", scoll.OOBID{}, scoll.Tree{}, nil); !errors.Is(err, scoll.ENOTSUP) {
		t.Errorf("no mapping: %v", err)
	}
	if _, err := s.nodes[0].agent.OOBGroup(6, "x", scoll.OOBID{}, scoll.Tree{}, nil); !errors.Is(err, scoll.ENOSERVICE) {
		t.Errorf("no service: %v", err)
	}
}

// TestMappingChanges: SC-93, SC-A10: the service of one member maps the group to another list of members than the
// root's service. That member refuses the request, so it and its subtree are unreached at once, without a timeout.
func TestMappingChanges(t *testing.T) {
	spec.Covers(t, "SC-93", "SC-A10")
	s := newStacks(t, 8, nil)
	g := s.oobOr(t, true)
	s.all(s.broadcast(0, g, scoll.RequestConfig{Payload: []byte("x")}), []string{"x"})
	targets := make([]scoll.Target, 8)
	for i := range targets {
		targets[i] = s.members.Target((i + 1) % 8)
	}
	changed, err := scoll.NewMembership(targets)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range s.nodes {
		if k.id != 4 {
			k.mapped = changed
		}
	}
	o := s.broadcast(0, g, scoll.RequestConfig{Payload: []byte("y"), Processing: time.Second})
	if len(o.unreached) == 0 || o.unreached[0] != (scoll.Unreached{NID: simlnd.NID(4), Status: scoll.ESTALE}) || o.at > 3*time.Millisecond {
		t.Errorf("unreached %v after %v", o.unreached, o.at)
	}
}

// TestDestroyGroup: a group is destroyed at all members (SC-100, SC-99).
func TestDestroyGroup(t *testing.T) {
	spec.Covers(t, "SC-99", "SC-100")
	s := newStacks(t, 8, nil)
	for _, last := range []bool{false, true} {
		g := s.group(0, true, scoll.Tree{})
		told := 0
		if last {
			s.broadcast(0, g, scoll.RequestConfig{Last: true})
		} else {
			s.fabric.Do(0, func(*simlnd.Host) {
				g.Destroy(func(err error) {
					if told++; err != nil {
						t.Error(err)
					}
				})
			})
			s.run(time.Second)
			if told != 1 {
				t.Errorf("told %d times", told)
			}
		}
		if _, err := g.NewRequest(scoll.RequestConfig{}); !errors.Is(err, scoll.ENOGROUP) {
			t.Errorf("last %v: %v", last, err)
		}
	}
}

// TestGroupTable: SC-90: every member's table has the groups of both kinds.
func TestGroupTable(t *testing.T) {
	spec.Covers(t, "SC-90")
	s := newStacks(t, 4, nil)
	s.broadcast(0, s.oobOr(t, true), scoll.RequestConfig{})
	g := s.group(0, true, scoll.Tree{Type: scoll.KAry, K: 3})
	for _, k := range s.nodes {
		list := k.agent.Groups()
		if len(list) != 2 || list[0].ID.Creator.IsValid() || list[1].ID != g.ID() || list[1].Creator != (k.id == 0) ||
			list[1].Tree.String() != "k-ary 3" || list[1].Nodes != 4 || list[1].Entities != 8 || list[1].InFlight != 0 {
			t.Errorf("node %d: %+v", k.id, list)
		}
	}
}

// TestLargeGroupOverStacks: SC-A15, SC-20 end to end: the list of a large group is fetched
// over the tree. Without Now the first broadcast has to carry the list, which does not fit.
func TestLargeGroupOverStacks(t *testing.T) {
	spec.Covers(t, "SC-20", "SC-A15")
	effort.OneGoroutine(t)
	s := newStacks(t, 150, nil)
	g := s.group(3, true, scoll.Tree{Type: scoll.KNomial, K: 3})
	s.all(s.broadcast(3, g, scoll.RequestConfig{Payload: []byte("x")}), []string{"x"})
	delayed := s.group(3, false, scoll.Tree{})
	if _, err := delayed.NewRequest(scoll.RequestConfig{}); !errors.Is(err, scoll.EMSGSIZE) {
		t.Errorf("SC-20: %v", err)
	}
}

// TestMembersError: SC-18: the error of a creation has the members that were not reached.
func TestMembersError(t *testing.T) {
	spec.Covers(t, "SC-18")
	s := newStacks(t, 8, nil)
	s.fabric.Kill(6)
	var got error
	s.fabric.Do(0, func(*simlnd.Host) {
		s.nodes[0].agent.CreateGroup(scoll.GroupConfig{
			Service: service, Members: s.members, Now: true, Done: func(_ *scoll.Group, err error) { got = err },
		})
	})
	s.run(10 * time.Second)
	e, ok := errors.AsType[*scoll.Error](got)
	if !ok || len(e.Unreached) != 2 || e.Unreached[0].NID != simlnd.NID(6) || e.Unreached[1].NID != simlnd.NID(7) || !errors.Is(got, e.Unreached[0].Status) {
		t.Errorf("%v", got)
	}
}
