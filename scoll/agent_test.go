package scoll_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/nid"
	"ulnet/scoll"
	"ulnet/scoll/wire"
)

// TestAgents checks SC-15, SC-18, SC-19, SC-43, SC-51 and SC-55 with 64 whole stacks, both kinds of
// groups, and two broadcasts each.
func TestAgents(t *testing.T) {
	spec.Covers(t, "SC-15", "SC-18", "SC-19", "SC-43", "SC-51", "SC-55")
	for _, now := range []bool{false, true} {
		t.Run(fmt.Sprint("now ", now), func(t *testing.T) {
			s := newStacks(t, 64, nil)
			g := s.group(5, now, scoll.Tree{Type: scoll.KNomial, K: 4})
			s.all(s.broadcast(5, g, scoll.RequestConfig{Payload: []byte("one")}), []string{"one"})
			s.all(s.broadcast(5, g, scoll.RequestConfig{Payload: []byte("two")}), []string{"one", "two"})
			for _, k := range s.nodes {
				if k.id != 5 && k.ended != 2 {
					t.Errorf("node %d: reply-out %d times", k.id, k.ended)
				}
			}
			if err := s.nodes[9].kept.Reply(nil); !errors.Is(err, scoll.ESTALE) {
				t.Errorf("SC-51: a handle after its end: %v", err)
			}
		})
	}
}

// TestEveryRoot: SC-1, SC-24, SC-86 and SC-95: every member is the root in turn, with
// the handle from Request.Group, of both kinds of groups.
func TestEveryRoot(t *testing.T) {
	spec.Covers(t, "SC-1", "SC-24", "SC-86", "SC-95")
	for _, oob := range []bool{false, true} {
		s := newStacks(t, 8, nil)
		g := s.oobOr(t, oob)
		want := []string{"0"}
		s.all(s.broadcast(0, g, scoll.RequestConfig{Payload: []byte("0")}), want)
		for root := 1; root < 8; root++ {
			text := fmt.Sprint(root)
			want = append(want, text)
			s.all(s.broadcast(root, s.nodes[root].kept.Group(), scoll.RequestConfig{Payload: []byte(text)}), want)
			parent := (root + 4) % 8 // in the binomial tree the parent of virtual rank 5 is 4
			if kept := s.nodes[(root+5)%8].kept; kept.RootNID() != simlnd.NID(sim.NodeID(root)) || kept.ParentNID() != simlnd.NID(sim.NodeID(parent)) {
				t.Errorf("root %v and parent %v of node %d, want those of %d and %d", kept.RootNID(), kept.ParentNID(), (root+5)%8, root, parent)
			}
		}
	}
}

// TestRequestFields: SC-25: the fields of a request at the root reach its service, and the
// members.
func TestRequestFields(t *testing.T) {
	spec.Covers(t, "SC-25")
	s := newStacks(t, 4, nil)
	g := s.group(0, true, scoll.Tree{})
	private := new(int)
	cfg := scoll.RequestConfig{
		Payload: []byte("payload"), Bulk: [][]byte{make([]byte, 10), make([]byte, 7)}, Last: true,
		Processing: 3 * time.Millisecond, Private: private,
	}
	r, err := g.NewRequest(cfg)
	if err != nil || r.Private() != private || string(r.Payload()) != "payload" || r.BulkLength() != 17 || len(r.Bulk()) != 2 ||
		!r.Root() || r.Group() != g || r.NID() != simlnd.NID(0) || r.Children() != 2 || r.Child(0) != (scoll.Child{Nodes: 2, Entities: 4}) ||
		r.ChildNID(0) != simlnd.NID(2) || len(r.Entities()) != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	s.all(s.broadcast(0, g, cfg), []string{"payload"})
	if k := s.nodes[3].kept; k.BulkLength() != 17 || k.Root() || k.NID() != simlnd.NID(3) || len(s.nodes[3].agent.Groups()) != 0 {
		t.Errorf("at a member %+v", k)
	}
}

// TestBuffersFirst: SC-27 and SC-152: a child's buffer is posted before the request is sent to
// the child, so that this node can receive an answer as soon as the request has arrived.
func TestBuffersFirst(t *testing.T) {
	spec.Covers(t, "SC-27", "SC-152")
	s := newStacks(t, 6, nil)
	for _, k := range s.nodes[1:] {
		refuses := k.service()
		refuses.PreRequest = func(*scoll.Request) error { return scoll.EPERM }
		k.agent.UnregisterService(service)
		if err := k.agent.RegisterService(refuses); err != nil {
			t.Fatal(err)
		}
	}
	o := s.broadcast(0, s.group(0, false, scoll.Tree{Type: scoll.KAry, K: 5}), scoll.RequestConfig{Processing: time.Second})
	if len(o.unreached) != 5 || o.at > time.Millisecond || len(s.nodes[0].replies) != 5 {
		t.Errorf("unreached %v after %v", o.unreached, o.at)
	}
	for _, p := range s.nodes[0].replies {
		if p.Status != scoll.EPERM || !p.Collective {
			t.Errorf("%+v", p)
		}
	}
	if n := s.nodes[0].table.Node().Snapshot().Stats.DropCount; n != 0 {
		t.Errorf("%d messages found no buffer", n)
	}
}

func (s *stacks) oobOr(t *testing.T, oob bool) *scoll.Group {
	t.Helper()
	if !oob {
		return s.group(0, false, scoll.Tree{})
	}
	g, err := s.nodes[0].agent.OOBGroup(service, "fid", scoll.OOBID{High: 1, Low: 2}, scoll.Tree{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestBulk: SC-31 and SC-A17: bulk data of several sizes, also longer than a message, reaches
// all members over the tree.
func TestBulk(t *testing.T) {
	spec.Covers(t, "SC-31", "SC-A17")
	effort.OneGoroutine(t)
	for _, size := range []int{1, 4097, 1 << 20, 2<<20 + 17} {
		s := newStacks(t, 9, nil)
		g := s.group(0, false, scoll.Tree{})
		var bulk []byte
		for i := range size {
			bulk = append(bulk, byte(i*i>>3))
		}
		cfg := scoll.RequestConfig{Payload: []byte("b"), Bulk: [][]byte{bulk[:size/7], bulk[size/7 : size/2], bulk[size/2:]}}
		s.all(s.broadcast(0, g, cfg), []string{"b"})
		for _, k := range s.nodes {
			if !slices.Equal(k.bulk, bulk) {
				t.Fatalf("size %d: node %d has other data", size, k.id)
			}
		}
	}
}

// TestScribble: SC-34 and SC-A29: a service that modifies a payload does not change what
// children get.
func TestScribble(t *testing.T) {
	spec.Covers(t, "SC-34", "SC-A29")
	s := newStacks(t, 8, nil)
	s.nodes[4].poison = true
	s.broadcast(0, s.group(0, false, scoll.Tree{}), scoll.RequestConfig{Payload: []byte("abc")})
	for _, k := range s.nodes {
		want := "abc"
		if k.id == 4 {
			want = "\x00\x00\x00"
		}
		if len(k.ran) != 1 || k.ran[0] != want {
			t.Errorf("node %d ran %q", k.id, k.ran)
		}
	}
}

// TestParts: SC-54 and SC-154: a reply of several messages arrives complete; each message takes a buffer.
func TestParts(t *testing.T) {
	spec.Covers(t, "SC-54", "SC-154")
	s := newStacks(t, 2, nil)
	for _, k := range s.nodes {
		k.parts, k.size = 3, 1<<20-wire.ReplyHeaderSize-wire.TrailerEntrySize
	}
	g := s.group(0, false, scoll.Tree{})
	s.broadcast(0, g, scoll.RequestConfig{})
	r := s.nodes[0].replies
	if len(r) != 3 || len(s.nodes[1].errs) > 0 {
		t.Fatalf("%d replies, %v", len(r), s.nodes[1].errs)
	}
	for i, p := range r {
		if p.Part != i || p.Last != (i == 2) || i < 2 && len(p.Payload) != s.nodes[0].size {
			t.Errorf("part %d is %d, last %v, %d bytes", i, p.Part, p.Last, len(p.Payload))
		}
	}
}

// TestTooManyParts: SC-54: a part with the same number as the last part is refused, and the
// last part still arrives.
func TestTooManyParts(t *testing.T) {
	spec.Covers(t, "SC-54")
	s := newStacks(t, 2, nil)
	for _, k := range s.nodes {
		k.parts, k.size = 65, 8
	}
	g := s.group(0, false, scoll.Tree{})
	o := s.broadcast(0, g, scoll.RequestConfig{})
	if errs := s.nodes[1].errs; len(errs) != 1 || errs[0] != scoll.EMSGSIZE {
		t.Errorf("errors %v", errs)
	}
	if len(o.unreached) != 0 || len(s.nodes[0].replies) != 64 {
		t.Errorf("%d messages, unreached %v", len(s.nodes[0].replies), o.unreached)
	}
}

// TestDeadMember: SC-130: with discovery a dead member fails a broadcast before
// anything is sent.
func TestDeadMember(t *testing.T) {
	spec.Covers(t, "SC-130")
	view := &fakeView{dead: simlnd.NID(3)}
	s := newStacks(t, 4, func(id int, cfg *scoll.Config) {
		if id == 0 {
			for i := range 2 {
				view.alive = append(view.alive, simlnd.NID(sim.NodeID(i)))
			}
			cfg.View = view
		}
	})
	g := s.group(0, false, scoll.Tree{})
	view.alive = append(view.alive, simlnd.NID(2)) // node 2 is alive, but the view has not reported it: the agent has to ask
	_, err := g.NewRequest(scoll.RequestConfig{})
	var dead *scoll.Error
	if !errors.As(err, &dead) || !slices.Equal(dead.Dead, []nid.NID{simlnd.NID(3)}) || !errors.Is(err, scoll.EHOSTDOWN) {
		t.Errorf("%v", err)
	}
}

// fakeView is a view whose nodes the tests set.
type fakeView struct {
	alive []nid.NID
	dead  nid.NID
}

func (v *fakeView) Alive(id nid.NID) (bool, uint64) { return slices.Contains(v.alive, id), 0 }

func (v *fakeView) Watch(f func(nid.NID, bool, uint64)) (stop func()) {
	for _, id := range v.alive {
		f(id, true, 0)
	}
	return func() {}
}

// TestRootErrors: SC-9, SC-27, SC-30, SC-A14: mistakes of the program at the root return
// errors.
func TestRootErrors(t *testing.T) {
	spec.Covers(t, "SC-9", "SC-27", "SC-30", "SC-A2", "SC-A14")
	s := newStacks(t, 4, nil)
	g := s.group(0, true, scoll.Tree{})
	limit, err := g.MaxPayload()
	if err != nil || limit != scoll.MaxMessage-wire.RequestHeaderSize {
		t.Errorf("limit %d, %v", limit, err)
	}
	if _, err := g.NewRequest(scoll.RequestConfig{Payload: make([]byte, limit+1)}); !errors.Is(err, scoll.EMSGSIZE) {
		t.Errorf("a byte too many: %v", err)
	}
	s.fabric.Do(0, func(*simlnd.Host) {
		r, err := g.NewRequest(scoll.RequestConfig{Payload: make([]byte, limit)})
		if err != nil {
			t.Errorf("as much as there is room for: %v", err)
			return
		}
		_ = r.PostReply(0, make([]byte, 64))
		if err := r.Send(); !errors.Is(err, scoll.EINVAL) || err.Error() != "scoll: no reply buffer posted for child 1" {
			t.Errorf("a child without buffer: %v", err)
		}
		_ = r.PostReply(1, make([]byte, 64))
		if err := r.PostReply(2, nil); !errors.Is(err, scoll.EINVAL) {
			t.Errorf("no such child: %v", err)
		}
		if err := r.Send(); err != nil {
			t.Errorf("send: %v", err)
		}
		if err := r.Send(); !errors.Is(err, scoll.EALREADY) {
			t.Errorf("sent twice: %v", err)
		}
		if err := r.Reply(nil); !errors.Is(err, scoll.EINVAL) {
			t.Errorf("SC-A2: a reply of the root: %v", err)
		}
	})
	s.run(time.Second)
	s.all(s.nodes[0].done[0], []string{string(make([]byte, limit))})
}

// TestStop: an agent can be closed, also a second time.
func TestStop(t *testing.T) {
	s := newStacks(t, 4, nil)
	g := s.group(0, false, scoll.Tree{})
	s.all(s.broadcast(0, g, scoll.RequestConfig{Payload: []byte("x")}), []string{"x"})
	for i := range s.nodes {
		s.fabric.Do(sim.NodeID(i), func(*simlnd.Host) {
			closeAgent(t, s.nodes[i].agent)
			closeAgent(t, s.nodes[i].agent)
		})
	}
	s.run(time.Second)
}
