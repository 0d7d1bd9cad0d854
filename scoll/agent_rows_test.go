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
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/scoll"
	"ulnet/scoll/engine"
	"ulnet/scoll/wire"
)

// TestTwoServices: SC-11, SC-13 and SC-14: the entities of two services are independent, and a
// group's broadcasts reach its service alone.
func TestTwoServices(t *testing.T) {
	spec.Covers(t, "SC-11", "SC-13", "SC-14", "SC-48")
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
			r, _ := g.NewRequest(scoll.RequestConfig{}) // SC-48: the service has no IncomingReply
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

// TestBurst: SC-150, SC-151: more requests arrive than there are buffers. They wait in the lazy
// portal, and none is lost.
func TestBurst(t *testing.T) {
	spec.Covers(t, "SC-150", "SC-151", "SC-156")
	effort.OneGoroutine(t)
	const each = 180
	s := newStacks(t, 8, func(_ int, cfg *scoll.Config) {
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
		if posted, all := k.agent.Buffers(); posted != 2 || all != 2 { // the expected numbers of buffers (SC-156)
			t.Errorf("node %d: %d buffers, %d posted", k.id, all, posted)
		}
		for _, o := range k.done {
			if len(o.unreached) > 0 {
				t.Fatalf("node %d: unreached %v", k.id, o.unreached)
			}
		}
	}
}

// TestBlockedService: SC-42: a service that blocks in incoming-request does not keep children
// from getting the request.
func TestBlockedService(t *testing.T) {
	spec.Covers(t, "SC-42")
	s := newStacks(t, 8, func(id int, cfg *scoll.Config) {
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
	if len(o.unreached) != 0 { // PostReply has replied while incoming-request was blocked
		t.Errorf("unreached %v", o.unreached)
	}
}

// TestLateReply: SC-A24, SC-153: replies that come after their buffers were withdrawn are
// dropped, and do not affect the next broadcast.
func TestLateReply(t *testing.T) {
	spec.Covers(t, "SC-153", "SC-A24")
	s := newStacks(t, 4, func(id int, cfg *scoll.Config) {
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

// TestAgentAbort: SC-72: Abort ends a broadcast, with whole agents.
func TestAgentAbort(t *testing.T) {
	spec.Covers(t, "SC-72")
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

// TestAbortInPreRequest: SC-72: a member aborts a request in PreRequest. The module refuses the request for the
// subtree, and the buffers are free in ReplyOut.
func TestAbortInPreRequest(t *testing.T) {
	spec.Covers(t, "SC-72")
	s := newStacks(t, 4, nil)
	k := s.nodes[2]
	service, status := k.service(), scoll.OK
	prepare, out := service.PreRequest, service.ReplyOut
	service.PreRequest = func(r *scoll.Request) error { r.Abort(); return prepare(r) }
	service.ReplyOut = func(r *scoll.Request) { status = r.Status(); out(r) }
	k.agent.UnregisterService(service.ID)
	if err := k.agent.RegisterService(service); err != nil {
		t.Fatal(err)
	}
	o := s.broadcast(0, s.group(0, true, scoll.Tree{}), scoll.RequestConfig{})
	if len(o.unreached) != 2 || o.unreached[0].Status != scoll.ECANCELED || len(k.ran) != 0 {
		t.Errorf("%+v, ran %q", o, k.ran)
	}
	if k.ended != 1 || status != scoll.ECANCELED {
		t.Errorf("ReplyOut was called %d times, with %v", k.ended, status)
	}
	s.quiet(k, 64)
}

// TestBulkModified: SC-33: the agent notices if a service writes to bulk data.
func TestBulkModified(t *testing.T) {
	spec.Covers(t, "SC-33")
	s := newStacks(t, 4, func(_ int, cfg *scoll.Config) { cfg.CheckBulk = true })
	s.nodes[2].writes = true
	s.broadcast(0, s.group(0, true, scoll.Tree{}), scoll.RequestConfig{Bulk: [][]byte{make([]byte, 5000)}})
	for _, k := range s.nodes {
		if got := k.agent.BulkModified(); got != map[bool]uint64{true: 1}[k.id == 2] {
			t.Errorf("node %d: %d", k.id, got)
		}
	}
}

// TestPriority: SC-127: a broadcast overtakes queued bulk messages.
func TestPriority(t *testing.T) {
	spec.Covers(t, "SC-127")
	const rate, size, puts = 1_000_000_000, 16 << 10, 2000
	s := newStacksAt(t, 4, rate, func(_ int, cfg *scoll.Config) { cfg.RTT = time.Second })
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

// TestOversizedReply: SC-160: a reply that is larger than its buffer, by little or by much, is
// an error. Later replies succeed.
func TestOversizedReply(t *testing.T) {
	spec.Covers(t, "SC-160")
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

// TestNothingIsLeft: SC-A24, SC-153, SC-154 and SC-160: buffers for parts that did not come are
// withdrawn before post-reply. An answer that arrives later is dropped. No request and no list
// is left.
func TestNothingIsLeft(t *testing.T) {
	spec.Covers(t, "SC-153", "SC-154", "SC-160", "SC-A24")
	s := newStacks(t, 150, nil)
	s.nodes[0].parts = 3 // the root posts buffers for three parts
	g := s.group(0, true, scoll.Tree{})
	s.broadcast(0, g, scoll.RequestConfig{})
	for _, k := range s.nodes {
		if requests, lists := k.agent.Held(); requests != 0 || lists != 0 {
			t.Errorf("node %d keeps %d requests, %d lists", k.id, requests, lists)
		}
	}
	dropped := func() uint64 { return s.nodes[0].table.Node().Snapshot().Stats.DropReasons[lnet.NoMatch.String()] }
	before, child := dropped(), 1
	for step := range uint64(4) { // the match bits of the creation and of the broadcast, two each
		s.fabric.Do(sim.NodeID(child), func(*simlnd.Host) {
			table := s.nodes[child].table
			md, err := table.MDBind(portals.MD{Segments: [][]byte{make([]byte, 60)}, Threshold: 1}, portals.Unlink)
			if err == nil {
				err = table.Put(portals.PutRequest{
					MD: md, Target: nid.ProcessID{NID: simlnd.NID(0), PID: nid.LustrePID}, Portal: wire.ReplyPortal,
					MatchBits: engine.FirstBits(s.nodes[0].host.LNetIncarnation()) + step,
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

// TestServiceMistakes: SC-A2, SC-32, SC-41, SC-47 and SC-52: a service that calls a method of a request too
// early or too late, or with too little memory for the bulk data, gets an error. If it posts no buffer for a
// child, or sets too little memory, the member refuses the request with EINVAL.
func TestServiceMistakes(t *testing.T) {
	spec.Covers(t, "SC-32", "SC-41", "SC-47", "SC-52", "SC-A2")
	s := newStacks(t, 4, nil)
	g := s.group(0, true, scoll.Tree{})
	early := make(map[int]error)
	for i, k := range s.nodes {
		mistaken := k.service()
		mistaken.ID = 9
		mistaken.PreRequest = func(r *scoll.Request) error {
			early[i] = r.Reply(nil)
			if i == 2 && len(r.Payload()) == 0 {
				return nil // an error of the service: no buffer for its child
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
