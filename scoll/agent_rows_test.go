package scoll_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/scoll"
)

// view is a view whose news come when the test says so.
type view struct {
	tell func(nid.NID, bool, uint64)
	n    int
	dead nid.NID
}

func (v *view) Alive(id nid.NID) (bool, uint64) { return id != v.dead, 0 }

func (v *view) Watch(f func(nid.NID, bool, uint64)) (stop func()) {
	v.tell = f
	for i := range v.n {
		f(simlnd.NID(sim.NodeID(i)), true, 0)
	}
	return func() { v.tell = nil }
}

// watched makes stacks with a view each.
func watched(t *testing.T, n int) (*stacks, []*view) {
	t.Helper()
	return watchedAt(t, n, 0)
}

func watchedAt(t *testing.T, n int, rate int64) (*stacks, []*view) {
	t.Helper()
	views := make([]*view, n)
	return newStacksAt(t, n, rate, func(id int, cfg *scoll.AgentConfig) {
		views[id] = &view{n: n}
		cfg.View, cfg.Propagation = views[id], 20*time.Millisecond
	}), views
}

// died tells a node of a death.
func (s *stacks) died(views []*view, at, who int) {
	s.fabric.Do(sim.NodeID(at), func(*simlnd.Host) {
		views[at].dead = simlnd.NID(sim.NodeID(who))
		views[at].tell(views[at].dead, false, 1)
	})
}

// TestAgentsLive: SC-97 and SC-A20 end to end: one member hears of a death late,
// and buffers are posted anew for the second attempt.
func TestAgentsLive(t *testing.T) {
	s, views := watched(t, 16)
	g := s.group(0, true, scoll.Tree{})
	s.fabric.Kill(8)
	for i := range s.nodes {
		if i != 8 && i != 12 {
			s.died(views, i, 8)
		}
	}
	s.run(time.Millisecond)
	s.fabric.At(s.fabric.Now()+10*time.Millisecond, func() { s.died(views, 12, 8) })
	s.nodes[15].refuses = 1 // the first attempt: it may run the second
	o := s.broadcast(0, g, scoll.RequestConfig{Payload: []byte("x"), Live: true})
	if len(o.answered) != 15 || len(o.unreached) != 0 {
		t.Fatalf("answered %v, unreached %v", o.answered, o.unreached)
	}
	repeated := 0
	for _, k := range s.nodes {
		if k.id != 8 && len(k.ran) != 1 {
			t.Errorf("node %d ran %q", k.id, k.ran)
		}
		repeated += k.repeated
	}
	// The first attempt was run by all but the root, 8, and 12 and 15, which are
	// leaves among the live and refuse.
	if repeated != 12 || s.nodes[12].repeated+s.nodes[15].repeated != 0 {
		t.Errorf("repeated at %d nodes", repeated)
	}
	if again := s.nodes[0].agent.Stats().Again; again != 1 {
		t.Errorf("%d more attempts", again)
	}
}

// TestAgentsDeath: SC-137, G-SC-7: news of a death end the wait at once.
func TestAgentsDeath(t *testing.T) {
	s, views := watched(t, 8)
	g := s.group(0, true, scoll.Tree{})
	s.fabric.Crash(4)
	s.fabric.At(s.fabric.Now()+3*time.Millisecond, func() { s.died(views, 0, 4) })
	o := s.broadcast(0, g, scoll.RequestConfig{Processing: time.Second})
	if len(o.unreached) != 4 || o.unreached[0].Status != scoll.EHOSTDOWN || o.at > 4*time.Millisecond {
		t.Errorf("%v after %v", o.unreached, o.at)
	}
	_, err := g.NewRequest(scoll.RequestConfig{})
	if !errors.Is(err, scoll.EHOSTDOWN) {
		t.Errorf("SC-130: %v", err)
	}
}

// TestTwoServices: SC-11, SC-13 and SC-14: the same entity of two services is
// two things, and a group's broadcasts reach its service alone.
func TestTwoServices(t *testing.T) {
	s := newStacks(t, 4, nil)
	other := make([]int, 4)
	for i, k := range s.nodes {
		err := k.agent.RegisterService(scoll.Service{
			ID: 4, PreRequest: k.post, PostReply: func(r *scoll.Request) { _ = r.Reply(nil) },
			IncomingRequest: func(*scoll.Request) error { other[i]++; return nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := k.agent.RegisterService(k.service()); !errors.Is(err, scoll.EALREADY) {
			t.Errorf("registered twice: %v", err)
		}
	}
	if err := s.nodes[0].agent.RegisterService(scoll.Service{ID: 5}); !errors.Is(err, scoll.EINVAL) {
		t.Errorf("without callbacks: %v", err)
	}
	s.all(s.broadcast(0, s.group(0, false, scoll.Tree{}), scoll.RequestConfig{Payload: []byte("a")}), []string{"a"})
	if slices.Max(other) != 0 {
		t.Errorf("the other service ran %v", other)
	}
	s.fabric.Do(0, func(*simlnd.Host) {
		s.nodes[0].agent.CreateGroup(scoll.GroupConfig{Service: 4, Members: s.members, Done: func(g *scoll.Group, err error) {
			if err != nil {
				t.Error(err)
				return
			}
			r, _ := g.NewRequest(scoll.RequestConfig{}) // SC-48: without IncomingReply
			_ = s.nodes[0].post(r)
			if err := r.Send(); err != nil {
				t.Error(err)
			}
		}})
	})
	s.run(time.Second)
	if !slices.Equal(other, []int{1, 1, 1, 1}) || len(s.nodes[2].ran) != 1 {
		t.Errorf("the other service ran %v", other)
	}
}

// TestBurst: SC-150, SC-151: many more requests than buffers; they wait in the
// lazy portal, and none is lost.
func TestBurst(t *testing.T) {
	const each = 180
	s := newStacks(t, 8, func(_ int, cfg *scoll.AgentConfig) {
		cfg.Buffers, cfg.MaxActive = 2, 8*each
	})
	for root := range 8 {
		g := s.group(root, true, scoll.Tree{Type: scoll.KAry, K: 8})
		s.fabric.Do(sim.NodeID(root), func(*simlnd.Host) {
			for i := range each {
				r, err := g.NewRequest(scoll.RequestConfig{Payload: []byte(fmt.Sprint(root, ".", i)), Processing: time.Second})
				if err == nil {
					_ = s.nodes[root].post(r)
					err = r.Send()
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	s.run(10 * time.Second)
	for _, k := range s.nodes {
		if len(k.done) != each || len(k.ran) != 8*each {
			t.Errorf("node %d: %d done, %d ran", k.id, len(k.done), len(k.ran))
		}
		if posted, all := k.agent.Buffers(); posted != 2 || all != 2 { // SC-156
			t.Errorf("node %d: %d buffers, %d posted", k.id, all, posted)
		}
		for _, o := range k.done {
			if len(o.unreached) > 0 {
				t.Fatalf("node %d: unreached %v", k.id, o.unreached)
			}
		}
	}
}

// TestBlockedService: SC-42: a service that is stuck in incoming-request does
// not keep its children from getting the request.
func TestBlockedService(t *testing.T) {
	s := newStacks(t, 8, func(id int, cfg *scoll.AgentConfig) {
		if id == 4 {
			cfg.Worker = func(func()) {}
		}
	})
	g := s.group(0, true, scoll.Tree{})
	o := s.broadcast(0, g, scoll.RequestConfig{Payload: []byte("x")})
	for _, k := range s.nodes {
		if k.id != 4 && len(k.ran) != 1 {
			t.Errorf("node %d ran %q", k.id, k.ran)
		}
	}
	if len(o.unreached) != 0 { // it replied from post-reply all the same
		t.Errorf("unreached %v", o.unreached)
	}
}

// TestOutOfBandIsLocal: SC-21, SC-23, SC-A23: an out-of-band group is made
// without a message, if the service maps such groups.
func TestOutOfBandIsLocal(t *testing.T) {
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

// TestMappingChanges: SC-93, SC-A10: a member with another mapping is named at
// once, with its subtree.
func TestMappingChanges(t *testing.T) {
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

// TestDestroyGroup: SC-100 and SC-99 end to end.
func TestDestroyGroup(t *testing.T) {
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

// TestLateReply: SC-A24, SC-153: replies that come when their buffers are gone
// are dropped, and the next broadcast is not disturbed by them.
func TestLateReply(t *testing.T) {
	s := newStacks(t, 4, func(id int, cfg *scoll.AgentConfig) {
		if id == 0 {
			cfg.RTT, cfg.Guard = time.Microsecond, time.Microsecond
		}
	})
	g := s.group(0, false, scoll.Tree{})
	if o := s.broadcast(0, g, scoll.RequestConfig{}); len(o.unreached) != 3 || o.at > time.Millisecond {
		t.Errorf("unreached %v after %v", o.unreached, o.at)
	}
	o := s.broadcast(0, g, scoll.RequestConfig{Processing: time.Second})
	if len(o.unreached) != 0 || len(o.answered) != 4 {
		t.Errorf("then %v, unreached %v", o.answered, o.unreached)
	}
}

// TestAgentAbort: SC-72 end to end.
func TestAgentAbort(t *testing.T) {
	s := newStacks(t, 4, nil)
	g := s.group(0, true, scoll.Tree{})
	s.fabric.Do(0, func(*simlnd.Host) {
		r, err := g.NewRequest(scoll.RequestConfig{})
		if err != nil {
			t.Error(err)
			return
		}
		_ = s.nodes[0].post(r)
		if err := r.Send(); err != nil {
			t.Error(err)
		}
		r.Abort()
	})
	s.run(time.Second)
	if o := s.nodes[0].done; len(o) != 1 || len(o[0].unreached) != 3 || o[0].unreached[0].Status != scoll.ECANCELED {
		t.Errorf("%+v", o)
	}
}

// TestGroupTable: SC-90: every member's table has the groups of both kinds.
func TestGroupTable(t *testing.T) {
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

// TestBulkModified: SC-33: a service that writes to bulk data is noticed.
func TestBulkModified(t *testing.T) {
	s := newStacks(t, 4, func(_ int, cfg *scoll.AgentConfig) { cfg.CheckBulk = true })
	s.nodes[2].writes = true
	s.broadcast(0, s.group(0, true, scoll.Tree{}), scoll.RequestConfig{Bulk: [][]byte{make([]byte, 5000)}})
	for _, k := range s.nodes {
		if got := k.agent.BulkModified(); got != map[bool]uint64{true: 1}[k.id == 2] {
			t.Errorf("node %d: %d", k.id, got)
		}
	}
}

// TestPriority: SC-127: a broadcast passes bulk messages that wait.
func TestPriority(t *testing.T) {
	const rate, size, puts = 1_000_000_000, 16 << 10, 2000
	s := newStacksAt(t, 4, rate, func(_ int, cfg *scoll.AgentConfig) { cfg.RTT = time.Second })
	g := s.group(0, true, scoll.Tree{})
	s.fabric.Do(0, func(*simlnd.Host) {
		md, err := s.nodes[0].table.MDBind(portals.MD{Segments: [][]byte{make([]byte, size)}, Threshold: puts}, portals.Unlink)
		if err != nil {
			t.Error(err)
		}
		for i := range puts {
			to := nid.ProcessID{NID: simlnd.NID(sim.NodeID(1 + i%3)), PID: nid.LustrePID}
			if err := s.nodes[0].table.Put(portals.PutRequest{MD: md, Target: to, Portal: 9}); err != nil {
				t.Error(err)
			}
		}
	})
	drain := time.Duration(puts * size * 8 * int64(time.Second) / rate)
	if o := s.broadcast(0, g, scoll.RequestConfig{Payload: []byte("x")}); len(o.unreached) != 0 || o.at > drain/10 {
		t.Errorf("unreached %v after %v; the queue takes %v", o.unreached, o.at, drain)
	}
}

// TestLargeGroupOverStacks: SC-A15, SC-20 end to end: the list is fetched over
// the tree; delayed, it does not fit.
func TestLargeGroupOverStacks(t *testing.T) {
	s := newStacks(t, 150, nil)
	g := s.group(3, true, scoll.Tree{Type: scoll.KNomial, K: 3})
	s.all(s.broadcast(3, g, scoll.RequestConfig{Payload: []byte("x")}), []string{"x"})
	delayed := s.group(3, false, scoll.Tree{})
	if _, err := delayed.NewRequest(scoll.RequestConfig{}); !errors.Is(err, scoll.EMSGSIZE) {
		t.Errorf("SC-20: %v", err)
	}
}

// TestMembersError: SC-18: who was not reached by a creation is named.
func TestMembersError(t *testing.T) {
	s := newStacks(t, 8, nil)
	s.fabric.Kill(6)
	var got error
	s.fabric.Do(0, func(*simlnd.Host) {
		s.nodes[0].agent.CreateGroup(scoll.GroupConfig{
			Service: service, Members: s.members, Now: true, Done: func(_ *scoll.Group, err error) { got = err },
		})
	})
	s.run(10 * time.Second)
	e, ok := errors.AsType[*scoll.MembersError](got)
	if !ok || len(e.Unreached) != 2 || e.Unreached[0].NID != simlnd.NID(6) || e.Unreached[1].NID != simlnd.NID(7) || !errors.Is(got, e.Unreached[0].Status) {
		t.Errorf("%v", got)
	}
}

// TestOversizedReply: Bad input: a reply that is larger than the buffer posted
// for it, by little or by much, is an error; the next ones are fine.
func TestOversizedReply(t *testing.T) {
	s := newStacks(t, 2, nil)
	g := s.group(0, true, scoll.Tree{})
	for _, extra := range []int{1, 5, 1000} {
		s.nodes[1].extra = extra
		o := s.broadcast(0, g, scoll.RequestConfig{Processing: time.Second})
		if len(o.unreached) != 1 || o.unreached[0].Status != scoll.EMSGSIZE || o.at > time.Millisecond {
			t.Errorf("%d bytes too many: %v after %v", extra, o.unreached, o.at)
		}
	}
	s.nodes[1].extra = 0
	if o := s.broadcast(0, g, scoll.RequestConfig{}); len(o.unreached) != 0 || s.nodes[0].agent.Stats().Oversized != 3 {
		t.Errorf("then %v, %+v", o.unreached, s.nodes[0].agent.Stats())
	}
}

// TestNothingIsLeft: SC-A24, SC-153, SC-154 and Bad input: buffers that were
// posted for parts that did not come are taken back before post-reply; who
// answers once more is dropped. Requests and lists are forgotten.
func TestNothingIsLeft(t *testing.T) {
	s := newStacks(t, 150, nil)
	s.nodes[0].parts = 3 // as the root thinks
	g := s.group(0, true, scoll.Tree{})
	s.broadcast(0, g, scoll.RequestConfig{})
	for _, k := range s.nodes {
		if requests, lists := k.agent.Held(); requests != 0 || lists != 0 {
			t.Errorf("node %d keeps %d requests, %d lists", k.id, requests, lists)
		}
	}
	dropped := func() uint64 { return s.nodes[0].table.Node().Snapshot().Stats.DropReasons[lnet.NoMatch.String()] }
	before, child := dropped(), 1
	for step := range uint64(4) { // of the creation, and of the broadcast
		s.fabric.Do(sim.NodeID(child), func(*simlnd.Host) {
			table := s.nodes[child].table
			md, err := table.MDBind(portals.MD{Segments: [][]byte{make([]byte, 60)}, Threshold: 1}, portals.Unlink)
			if err == nil {
				err = table.Put(portals.PutRequest{
					MD: md, Target: nid.ProcessID{NID: simlnd.NID(0), PID: nid.LustrePID}, Portal: scoll.ReplyPortal,
					MatchBits: scoll.FirstBits(s.nodes[0].host.Incarnation()) + step,
				})
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	if s.run(time.Second); dropped() != before+4 {
		t.Errorf("%d of 4 late answers were dropped", dropped()-before)
	}
}

// TestServiceMistakes: SC-A2, SC-32, SC-41, SC-47 and SC-52: what a service does
// wrong is told to it, and to its parent as a refusal.
func TestServiceMistakes(t *testing.T) {
	s := newStacks(t, 4, nil)
	g := s.group(0, true, scoll.Tree{})
	early := make(map[int]error)
	for i, k := range s.nodes {
		mistaken := k.service()
		mistaken.ID = 9
		mistaken.PreRequest = func(r *scoll.Request) error {
			early[i] = r.Reply(nil)
			if i == 2 && len(r.Payload()) == 0 {
				return nil // no buffer for its child
			}
			if n := r.BulkLength(); n > 0 && i == 1 {
				return r.SetBulk(make([]byte, n-1))
			}
			if n := r.BulkLength(); n > 0 {
				_ = r.SetBulk(make([]byte, n+10))
			}
			return k.post(r)
		}
		if err := k.agent.RegisterService(mistaken); err != nil {
			t.Fatal(err)
		}
	}
	s.fabric.Do(0, func(*simlnd.Host) {
		s.nodes[0].agent.CreateGroup(scoll.GroupConfig{Service: 9, Members: s.members, Done: func(made *scoll.Group, _ error) { g = made }})
	})
	s.run(0)
	var root *scoll.Request
	for i, c := range []struct {
		cfg  scoll.RequestConfig
		want []scoll.Unreached
	}{
		{scoll.RequestConfig{}, []scoll.Unreached{{NID: simlnd.NID(2), Status: scoll.EINVAL}, {NID: simlnd.NID(3), Status: scoll.EINVAL}}},
		{scoll.RequestConfig{Payload: []byte("x"), Bulk: [][]byte{make([]byte, 99)}}, []scoll.Unreached{{NID: simlnd.NID(1), Status: scoll.EINVAL}}},
	} {
		if o := s.broadcast(0, g, c.cfg); !slices.Equal(o.unreached, c.want) {
			t.Errorf("mistake %d: %v", i, o.unreached)
		}
	}
	if !errors.Is(early[3], scoll.EAGAIN) {
		t.Errorf("a reply in pre-request: %v", early[3])
	}
	s.fabric.Do(0, func(*simlnd.Host) {
		root, _ = g.NewRequest(scoll.RequestConfig{Payload: []byte("x")})
		_ = s.nodes[0].post(root)
		_ = root.Send()
	})
	s.run(time.Second)
	if err := root.PostReply(0, nil); !errors.Is(err, scoll.ESTALE) {
		t.Errorf("SC-52: %v", err)
	}
	if err := root.Send(); err == nil {
		t.Error("SC-52: a handle that has ended is sent")
	}
	for _, k := range s.nodes {
		if len(k.errs) > 0 {
			t.Errorf("node %d: %v", k.id, k.errs)
		}
	}
}
