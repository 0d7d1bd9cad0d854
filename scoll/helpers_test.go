package scoll_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/simlnd"
	"ulnet/scoll"
	"ulnet/scoll/wire"
)

// TestConcatenation: SC-53: a concatenation of concatenations is split into the original
// pieces.
func TestConcatenation(t *testing.T) {
	spec.Covers(t, "SC-53")
	a := scoll.AppendPiece(nil, simlnd.NID(1), []byte("one"))
	a = scoll.AppendPiece(a, simlnd.NID(2), nil)
	b := scoll.AppendPiece(nil, simlnd.NID(3), []byte("three"))
	all := append(a, b...)
	var got string
	for id, data := range scoll.Pieces(all) {
		got += fmt.Sprintf("%v=%s ", id, data)
	}
	if got != "10.0.0.2@tcp=one 10.0.0.3@tcp= 10.0.0.4@tcp=three " || scoll.CheckPieces(all) != nil {
		t.Errorf("%s, %v", got, scoll.CheckPieces(all))
	}
	for i := range b {
		if err := scoll.CheckPieces(b[:i]); i > 0 && err == nil {
			t.Errorf("%d of %d bytes are taken", i, len(b))
		}
	}
	for range scoll.Pieces(all) {
		break
	}
}

// TestReductions: numbers are combined position by position, whatever the order.
func TestReductions(t *testing.T) {
	for op, want := range map[scoll.Op][]uint64{
		scoll.Min: {1, 2}, scoll.Max: {12, 6}, scoll.Sum: {18, 10}, scoll.And: {0, 2},
	} {
		lists := [][]byte{scoll.Numbers(12, 6), scoll.Numbers(5, 2), scoll.Numbers(1, 2)}
		for first := range lists {
			all := slices.Clone(lists[first])
			for i := range lists[1:] {
				var err error
				if all, err = op.Merge(all, lists[(first+1+i)%len(lists)]); err != nil {
					t.Error(err)
				}
			}
			if got := (&scoll.Result{Answer: all}).Numbers(); !slices.Equal(got, want) {
				t.Errorf("operation %d from list %d: %v, want %v", op, first, got, want)
			}
		}
		for _, b := range [][]byte{scoll.Numbers(1), nil, make([]byte, 15)} {
			if _, err := op.Merge(scoll.Numbers(1, 2), b); !errors.Is(err, scoll.EPROTO) {
				t.Errorf("%d bytes beside 16: %v", len(b), err)
			}
		}
		if _, err := op.Merge(make([]byte, 15), make([]byte, 15)); !errors.Is(err, scoll.EPROTO) {
			t.Errorf("what is no list of numbers: %v", err)
		}
	}
}

// statuses returns a service that some nodes fail to run, and in which one node drops the
// answers of its children.
func (k *stack) statuses(forgets bool, fails scoll.Status, done func([]scoll.Unreached)) scoll.Service {
	of := func(r *scoll.Request) *scoll.StatusMap {
		if r.Data == nil {
			r.Data = new(scoll.StatusMap)
		}
		return r.Data.(*scoll.StatusMap)
	}
	return scoll.Service{
		ID:              9,
		PreRequest:      postStatuses,
		IncomingRequest: func(*scoll.Request) error { return nil },
		IncomingReply: func(p *scoll.Reply) {
			if !forgets {
				of(p.Request).Merge(p)
			}
		},
		PostReply: func(r *scoll.Request) {
			of(r).Add(r.NID(), fails)
			if r.Root() {
				done(of(r).Finish(r))
			} else if err := r.Reply(of(r).AppendTo(nil)); err != nil {
				k.errs = append(k.errs, err)
			}
		},
	}
}

func postStatuses(r *scoll.Request) error {
	for i := range r.Children() {
		if err := r.PostReply(i, make([]byte, scoll.StatusSize*r.Child(i).Nodes)); err != nil {
			return err
		}
	}
	return nil
}

// TestStatusMap: SC-53, SC-69 and SC-A27: the map has the members that failed, and exactly
// those that were not reached, even though the service of an inner node ignores all errors.
func TestStatusMap(t *testing.T) {
	spec.Covers(t, "SC-53", "SC-69", "SC-A27")
	s := newStacks(t, 16, nil)
	var got []scoll.Unreached
	for i, k := range s.nodes {
		fails := scoll.OK
		if i == 7 {
			fails = 200
		}
		if err := k.agent.RegisterService(k.statuses(i == 8, fails, func(l []scoll.Unreached) { got = l })); err != nil {
			t.Fatal(err)
		}
	}
	s.fabric.Crash(12)
	s.fabric.Do(0, func(*simlnd.Host) {
		s.nodes[0].agent.CreateGroup(scoll.GroupConfig{Service: 9, Members: s.members, Done: func(g *scoll.Group, _ error) {
			r, err := g.NewRequest(scoll.RequestConfig{})
			if err == nil {
				_ = postStatuses(r)
				err = r.Send()
			}
			if err != nil {
				t.Error(err)
			}
		}})
	})
	s.run(1e9)
	var text string
	for _, u := range got {
		host, _ := simlnd.Node(u.NID)
		text += fmt.Sprintf("%d:%v ", int(host), u.Status)
	}
	if text != "7:status 200 12:timed out 13:timed out 14:timed out 15:timed out " {
		t.Errorf("got %s", text)
	}
}

// TestBadStatusMap: a malformed reply of a child counts as its failure.
func TestBadStatusMap(t *testing.T) {
	s := newStacks(t, 4, nil)
	s.broadcast(0, s.group(0, true, scoll.Tree{}), scoll.RequestConfig{})
	p := s.nodes[0].replies[0]
	p.Payload = bytes.Repeat([]byte{1}, 25)
	var m scoll.StatusMap
	m.Merge(&p)
	if got := len(m.AppendTo(nil)); got != scoll.StatusSize*p.Request.Child(p.Child).Nodes {
		t.Errorf("%d bytes", got)
	}
}

// TestVersions: SC-159: members have three versions of a service. A member that does not know the version of
// a request forwards it all the same. The root learns the lowest version, and sends the request again in that
// version.
func TestVersions(t *testing.T) {
	spec.Covers(t, "SC-159")
	s := newStacks(t, 9, nil)
	ran := 0
	var result scoll.Versions
	for i, k := range s.nodes {
		own := uint32(1 + i%3)
		if i == 0 {
			own = 3
		}
		of := func(r *scoll.Request) *scoll.Versions {
			if r.Data == nil {
				r.Data = &scoll.Versions{Own: own}
			}
			return r.Data.(*scoll.Versions)
		}
		err := k.agent.RegisterService(scoll.Service{
			ID: 9, PreRequest: postStatuses,
			IncomingRequest: func(r *scoll.Request) error {
				if of(r).Check(uint32(r.Payload()[0])) {
					ran++
				}
				return nil
			},
			IncomingReply: func(p *scoll.Reply) {
				if err := of(p.Request).Merge(p.Payload); err != nil {
					t.Error(err)
				}
			},
			PostReply: func(r *scoll.Request) {
				if r.Root() {
					result = *of(r)
				} else {
					k.host.Clock().AfterFunc(2000, func() { _ = r.Reply(of(r).AppendTo(nil)) }) // replies later, when the node's own work is done
				}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	send := func(version byte) {
		s.fabric.Do(0, func(*simlnd.Host) {
			s.nodes[0].agent.CreateGroup(scoll.GroupConfig{Service: 9, Members: s.members, Done: func(g *scoll.Group, _ error) {
				r, err := g.NewRequest(scoll.RequestConfig{Payload: []byte{version}})
				if err == nil {
					_ = postStatuses(r)
					err = r.Send()
				}
				if err != nil {
					t.Error(err)
				}
			}})
		})
		s.run(1e9)
	}
	if send(3); result.Lowest != 1 || result.Count != 5 || ran != 4 {
		t.Errorf("version 3: %+v, ran on %d", result, ran)
	}
	ran = 0
	if send(byte(result.Lowest)); result.Count != 0 || ran != 9 {
		t.Errorf("version 1: %+v, ran on %d", result, ran)
	}
	if err := result.Merge([]byte{1}); !errors.Is(err, wire.ErrShort) {
		t.Error(err)
	}
}

// closeAgent closes an agent whose callbacks are sure to return.
func closeAgent(t testing.TB, a *scoll.Agent) {
	t.Helper()
	if err := a.Close(context.Background()); err != nil {
		t.Error(err)
	}
}
