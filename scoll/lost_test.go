package scoll_test

import (
	"slices"
	"testing"
	"time"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/scoll"
)

// TestFailedInnerServer: SC-133, G-SC-8: in the service of docs/collectives.md rank 4 of 8
// fails to run the request. The answers of the three servers below rank 4, which its service
// has received, still count, and rank 4 alone is unreached.
func TestFailedInnerServer(t *testing.T) {
	spec.Covers(t, "SC-133", "G-SC-8")
	s := newServers(8)
	var servers, bytes uint64
	var missing []scoll.Unreached
	for id, k := range s.list {
		service := (&space{
			free: func() uint64 { return 100 },
			done: func(n, sum uint64, list []scoll.Unreached) { servers, bytes, missing = n, sum, list },
		}).service()
		if id == 4 {
			service.IncomingRequest = func(*scoll.Request) error { return scoll.EIO }
		}
		if err := k.agent.RegisterService(service); err != nil {
			t.Fatal(err)
		}
	}
	s.on(0, func(k *server) {
		k.agent.CreateGroup(scoll.GroupConfig{Service: spaceService, Members: s.members, Done: func(g *scoll.Group, err error) {
			if err == nil {
				err = ask(g)
			}
			if err != nil {
				t.Error(err)
			}
		}})
	})
	if servers != 7 || bytes != 700 {
		t.Errorf("%d servers with %d bytes were counted, want 7 with 700", servers, bytes)
	}
	if len(missing) != 1 || missing[0] != (scoll.Unreached{NID: s.members.NID(4), Status: scoll.EIO}) {
		t.Errorf("missing: %v", missing)
	}
}

// TestAnswersPassedOn: G-SC-8: for whatever reason the service of an inner member does not
// reply, only that member is unreached. The services overwrite reply buffers as soon as
// IncomingReply has returned, which is allowed (SC-29).
func TestAnswersPassedOn(t *testing.T) {
	spec.Covers(t, "SC-29", "G-SC-8")
	effort.OneGoroutine(t)
	for _, tt := range []struct {
		name   string
		status scoll.Status
		change func(*scoll.Service)
	}{
		{"fails", scoll.EIO, func(s *scoll.Service) { s.IncomingRequest = func(*scoll.Request) error { return scoll.EIO } }},
		{"is silent", scoll.ETIMEDOUT, func(s *scoll.Service) { s.PostReply = func(*scoll.Request) {} }},
		{"is aborted", scoll.ECANCELED, func(s *scoll.Service) { s.PostReply = func(r *scoll.Request) { r.Abort() } }},
		{"is aborted when its children have answered", scoll.ECANCELED, func(s *scoll.Service) {
			take, replies := s.IncomingReply, 0
			s.IncomingReply = func(p *scoll.Reply) {
				if take(p); replies == 1 {
					p.Request.Abort()
				}
				replies++
			}
			s.PostReply = func(*scoll.Request) {}
		}},
		{"replies too much", scoll.ETIMEDOUT, func(s *scoll.Service) {
			s.PostReply = func(r *scoll.Request) {
				if err := r.Reply(make([]byte, 2<<20)); err != scoll.EMSGSIZE {
					t.Errorf("a reply of 2 MiB: %v", err)
				}
			}
		}},
		{"replies a part alone", scoll.ETIMEDOUT, func(s *scoll.Service) {
			s.PostReply = func(r *scoll.Request) { _ = r.ReplyPart([]byte{4, 0, 0, 0, 5, 0, 0, 0, 6, 0, 0, 0, 7, 0, 0, 0}) }
		}},
		{"replies after an error", scoll.EIO, func(s *scoll.Service) {
			s.IncomingRequest = func(*scoll.Request) error { return scoll.EIO }
			s.Inline = true
			s.PostReply = func(r *scoll.Request) {
				if err := r.Reply(make([]byte, 4)); err != scoll.EALREADY {
					t.Errorf("Reply after an error: %v", err)
				}
			}
		}},
		{"replies for those below", scoll.EPERM, func(s *scoll.Service) {
			s.PostReply = func(r *scoll.Request) {
				if r.ReplyBelow(nil, scoll.OK) != scoll.EINVAL || r.ReplyBelow([]byte{5, 0, 0, 0, 6, 0, 0, 0, 7, 0, 0, 0}, scoll.EPERM) != nil {
					t.Error("ReplyBelow")
				}
			}
		}},
	} {
		for _, signed := range []bool{false, true} {
			s := newStacks(t, 8, func(_ int, cfg *scoll.Config) {
				if signed {
					cfg.Keys = keys(t, "a")
				}
			})
			for _, k := range s.nodes {
				service := k.careful()
				if k.id == 4 {
					tt.change(&service)
				}
				k.agent.UnregisterService(service.ID)
				if err := k.agent.RegisterService(service); err != nil {
					t.Fatal(err)
				}
			}
			s.nodes[0].parts = 2 // the root posts two buffers for each child
			o := s.broadcast(0, s.group(0, false, scoll.Tree{}), scoll.RequestConfig{Payload: []byte("x")})
			want := []scoll.Unreached{{NID: simlnd.NID(4), Status: tt.status}}
			if !slices.Equal(o.unreached, want) || !slices.Equal(o.answered, []int{0, 1, 2, 3, 5, 6, 7}) {
				t.Errorf("a service %s, signed %v: answered %v, unreached %v", tt.name, signed, o.answered, o.unreached)
			}
		}
	}
}

// careful returns the service of stacks with two additions. It drops the parts of an answer
// that ends with an error, and it overwrites each buffer as soon as the buffer belongs to the
// service again.
func (k *stack) careful() scoll.Service {
	s := k.service()
	post, take, prepare := s.PostReply, s.IncomingReply, s.PreRequest
	parts := map[*scoll.Request]map[sim.NodeID][]byte{}
	s.PreRequest = func(r *scoll.Request) error { delete(parts, r); return prepare(r) }
	s.IncomingReply = func(p *scoll.Reply) {
		if parts[p.Request] == nil {
			parts[p.Request] = map[sim.NodeID][]byte{}
		}
		of := parts[p.Request]
		from, _ := simlnd.Node(p.From)
		if p.Status != scoll.OK {
			delete(of, from)
			return
		}
		of[from] = append(of[from], p.Payload...)
		clear(p.Payload)
	}
	s.PostReply = func(r *scoll.Request) {
		for _, payload := range parts[r] {
			take(&scoll.Reply{Request: r, Payload: payload})
		}
		post(r)
	}
	return s
}

// TestBlockedRoot: SC-57: the root's own IncomingRequest blocks. After the timeout T of the tree,
// or after Abort, the root gets its result, in which the root itself is unreached. Its buffers are free
// in ReplyOut, which is called when IncomingRequest has returned.
func TestBlockedRoot(t *testing.T) {
	spec.Covers(t, "SC-57")
	for _, abort := range []bool{false, true} {
		var stop func()
		var left []func() // functions that workers are to run; the first one calls IncomingRequest
		returned := 0
		s := newStacks(t, 4, func(id int, cfg *scoll.Config) {
			if id == 0 {
				cfg.Worker = func(f func()) { left = append(left, f) }
			}
		})
		k := s.nodes[0]
		service := k.service()
		post := service.PostReply
		busy := false
		service.PostReply = func(r *scoll.Request) { busy = r.Busy(); post(r) }
		service.ReplyOut = func(r *scoll.Request) {
			if returned++; string(r.Payload()) != "payload" {
				t.Errorf("payload %q", r.Payload())
			}
		}
		k.agent.UnregisterService(service.ID)
		if err := k.agent.RegisterService(service); err != nil {
			t.Fatal(err)
		}
		g := s.group(0, false, scoll.Tree{})
		s.fabric.Do(0, func(*simlnd.Host) {
			r, err := g.NewRequest(scoll.RequestConfig{Payload: []byte("payload"), Processing: time.Hour / 10})
			if err == nil {
				_ = k.post(r)
				err = r.Send()
			}
			if err != nil {
				t.Error(err)
			}
			stop = r.Abort
		})
		want := scoll.Unreached{NID: simlnd.NID(0), Status: scoll.ETIMEDOUT}
		if s.run(time.Second); abort {
			want.Status = scoll.ECANCELED
			s.fabric.Do(0, func(*simlnd.Host) { stop(); left[1]() })
		} else {
			s.run(time.Hour / 10)
		}
		s.run(time.Second)
		if len(k.done) != 1 || !slices.Equal(k.done[0].unreached, []scoll.Unreached{want}) || !busy || returned != 0 {
			t.Fatalf("abort %v: %+v, busy %v, ReplyOut called %d times", abort, k.done, busy, returned)
		}
		s.fabric.Do(0, func(*simlnd.Host) { left[0]() })
		if s.run(time.Second); returned != 1 || len(k.ran) != 1 {
			t.Errorf("abort %v: ReplyOut called %d times, ran %q", abort, returned, k.ran)
		}
		s.quiet(k, 64)
	}
}
