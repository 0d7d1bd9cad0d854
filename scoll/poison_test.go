package scoll_test

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/simlnd"
	"ulnet/scoll"
)

const poison = 0xDB

// spoiler is a service that overwrites every buffer as soon as the buffer is free, and checks
// later that no other code wrote to it. Its reply has an entry of 8 bytes for each node that ran
// the request.
type spoiler struct {
	t      *testing.T
	bulk   func() []byte // the bulk data to broadcast
	onDone func(*scoll.Request, *spoiled)

	mu    sync.Mutex
	freed [][]byte // buffers that were freed; guarded by mu, like all below
	busy  int      // how often PostReply found that buffers were in use
}

// spoiled is a request at a node.
type spoiled struct {
	s       *spoiler
	mu      sync.Mutex
	posted  [][]byte // posted buffers, by child; guarded by mu, like all fields below
	left    [][]byte // buffers to be freed at the end
	bulk    []byte   // bulk data, to be freed at the end, and not before IncomingRequest has returned
	got     []byte
	halves  int
	payload []byte
}

// free overwrites buffers and remembers them for check.
func (s *spoiler) free(buffers ...[]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range buffers {
		for i := range b {
			b[i] = poison
		}
		s.freed = append(s.freed, b)
	}
}

// check fails the test if a buffer was written to after it was free.
func (s *spoiler) check() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.freed {
		if len(b) != bytes.Count(b, []byte{poison}) {
			s.t.Errorf("a buffer of %d bytes was written to when it was free", len(b))
		}
	}
}

func entry(id int) []byte { return []byte{1, 2, 3, 4, byte(id), 6, 7, byte(id)} }

func (s *spoiler) post(r *scoll.Request, w *spoiled) error {
	for i := range r.Children() {
		b := make([]byte, 8*r.Child(i).Nodes)
		w.posted = append(w.posted, b)
		if err := r.PostReply(i, b); err != nil {
			return err
		}
	}
	return nil
}

func (s *spoiler) service(id int) scoll.Service {
	of := func(r *scoll.Request) *spoiled { return r.Data.(*spoiled) }
	return scoll.Service{
		ID: 9,
		PreRequest: func(r *scoll.Request) error {
			w := &spoiled{s: s}
			r.Data = w
			if n := r.BulkLength(); n > 0 {
				b := make([]byte, n)
				w.bulk = b
				if err := r.SetBulk(b[:n/2], b[n/2:]); err != nil {
					return err
				}
			}
			return s.post(r, w)
		},
		IncomingRequest: func(r *scoll.Request) error {
			if r.BulkStatus() != scoll.OK {
				of(r).half(r, id, false)
				return nil
			}
			if got := slices.Concat(r.Bulk()...); !bytes.Equal(got, s.bulk()) {
				s.t.Errorf("node %d has other bulk data", id)
			}
			if string(r.Payload()) != "payload" {
				s.t.Errorf("node %d has payload %q", id, r.Payload())
			}
			of(r).half(r, id, true)
			return nil
		},
		IncomingReply: func(p *scoll.Reply) { of(p.Request).take(p) },
		PostReply: func(r *scoll.Request) {
			w := of(r)
			w.mu.Lock()
			w.left = append(w.left, w.posted...) // these buffers belong to children that the parent has given up
			if w.posted = nil; r.Busy() {
				s.mu.Lock()
				s.busy++
				s.mu.Unlock()
			} else {
				s.free(w.left...)
				w.left = nil
			}
			w.mu.Unlock()
			if r.Root() {
				s.onDone(r, w)
				return
			}
			w.half(r, id, r.BulkStatus() == scoll.OK)
		},
		ReplyOut: func(r *scoll.Request) {
			w := of(r)
			w.mu.Lock()
			s.free(append(w.left, w.bulk)...)
			w.left, w.bulk = nil, nil
			w.mu.Unlock()
		},
	}
}

// take keeps a child's entries and frees its buffer (SC-29).
func (w *spoiled) take(p *scoll.Reply) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.got = append(w.got, p.Payload...)
	if p.Status == scoll.OK && p.Last {
		w.s.free(w.posted[p.Child])
		w.posted[p.Child] = nil
	}
}

// half is called twice for each request: by PostReply, and when this node has done its own
// work. The second call frees the bulk data and sends the reply.
func (w *spoiled) half(r *scoll.Request, id int, ran bool) {
	w.mu.Lock()
	if w.halves++; w.halves < 2 || r.Root() {
		w.mu.Unlock()
		return
	}
	if !r.Busy() {
		w.s.free(w.bulk)
		w.bulk = nil
	}
	if !ran {
		w.mu.Unlock()
		return // the module has already replied
	}
	b := append(entry(id), w.got...)
	w.left = append(w.left, b)
	w.mu.Unlock()
	if err := r.Reply(b); err != nil {
		w.s.t.Errorf("node %d: %v", id, err)
	}
}

// wantEntries fails the test unless the root got the entries of the given number of
// nodes.
func (s *spoiler) wantEntries(w *spoiled, nodes int) {
	s.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := map[byte]bool{}
	for b := w.got; len(b) >= 8; b = b[8:] {
		if seen[b[4]] || !bytes.Equal(b[:8], entry(int(b[4]))) {
			s.t.Fatalf("entry %v", b[:8])
		}
		seen[b[4]] = true
	}
	if len(seen) != nodes {
		s.t.Errorf("%d nodes answered, want %d", len(seen), nodes)
	}
}

func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*i>>6) &^ 1 // never the value that poisons buffers
	}
	return b
}

// TestPoison: SC-26, SC-29, SC-35: all members send many broadcasts while goroutines deliver
// messages, and each buffer is overwritten when it is free.
func TestPoison(t *testing.T) {
	spec.Covers(t, "SC-26", "SC-29", "SC-35")
	effort.OneGoroutine(t)
	for _, segment := range []int{0, 1 << 14} {
		t.Run(fmt.Sprint("segment ", segment), func(t *testing.T) {
			const n, rounds = 7, 8
			w := newWires(t, n, scoll.Config{RTT: time.Minute})
			s := &spoiler{t: t, bulk: func() []byte { return pattern(100_001) }}
			over := make(chan *spoiled, n)
			s.onDone = func(_ *scoll.Request, w *spoiled) { over <- w }
			for _, d := range w.nodes {
				if err := d.agent.RegisterService(s.service(d.id)); err != nil {
					t.Fatal(err)
				}
			}
			for range rounds {
				for root := range n {
					g := w.group(root, scoll.Tree{})
					g.SetSegment(segment)
					s.send(g)
				}
				for range n {
					s.wantEntries(<-over, n-1)
				}
			}
			s.check()
		})
	}
}

// send sends a broadcast; payload and bulk data are freed with the rest of the request.
func (s *spoiler) send(g *scoll.Group) {
	w := &spoiled{s: s, payload: []byte("payload")}
	bulk := s.bulk()
	w.left = append(w.left, bulk, w.payload)
	r, err := g.NewRequest(scoll.RequestConfig{Payload: w.payload, Bulk: [][]byte{bulk[:7], bulk[7:]}})
	if err == nil {
		r.Data = w
		if err = s.post(r, w); err == nil {
			err = r.Send()
		}
	}
	if err != nil {
		s.t.Error(err)
	}
}

// TestPoisonSlowChild: SC-A16, SC-35 and SC-26: a child stops in the middle of its fetch until
// its parent's timeout. The parent's bulk buffer is not free at that time, but this does not
// delay the nodes above. When the child goes on it gets the right data.
func TestPoisonSlowChild(t *testing.T) {
	spec.Covers(t, "SC-26", "SC-35", "SC-A16")
	effort.OneGoroutine(t)
	for _, segment := range []int{0, 1 << 18} {
		t.Run(fmt.Sprint("segment ", segment), func(t *testing.T) {
			const size = 6 << 20
			s := newStacksAt(t, 8, 1_000_000_000, func(_ int, cfg *scoll.Config) {
				cfg.RTT, cfg.Guard, cfg.MinBulkRate = 10*time.Millisecond, 8*time.Millisecond, 20_000_000
			})
			var took time.Duration
			var unreached []scoll.Unreached
			p := &spoiler{t: t, bulk: func() []byte { return pattern(size) }}
			p.onDone = func(r *scoll.Request, w *spoiled) {
				took, unreached = s.fabric.Now(), r.Unreached()
				p.wantEntries(w, 6)
			}
			for _, k := range s.nodes {
				if err := k.agent.RegisterService(p.service(k.id)); err != nil {
					t.Fatal(err)
				}
			}
			g := s.spoiled()
			g.SetSegment(segment)
			begin := s.fabric.Now()
			s.fabric.Do(0, func(*simlnd.Host) { p.send(g) })
			paused := false
			for !paused && s.fabric.Now() < begin+time.Second {
				s.run(time.Millisecond)
				if gets := s.nodes[7].table.Node().Snapshot().Stats.SendCount; gets > 0 { // node 7 has fetched data from node 6
					s.fabric.Pause(7)
					paused = true
				}
			}
			s.run(5 * time.Second)
			if len(unreached) != 1 || unreached[0].NID != simlnd.NID(7) || unreached[0].Status != scoll.ETIMEDOUT {
				t.Fatalf("unreached %v", unreached)
			}
			if segment == 0 && p.busy != 1 {
				t.Errorf("%d parents were not free to go on", p.busy)
			}
			t.Logf("paused %v after %v, busy %d", paused, took-begin, p.busy)
			s.fabric.Resume(7)
			s.run(10 * time.Second)
			for _, k := range s.nodes {
				if requests, _ := k.agent.Held(); requests != 0 {
					t.Errorf("node %d keeps %d requests", k.id, requests)
				}
			}
			p.check()
		})
	}
}

// spoiled creates the group of the spoiler's service at node 0.
func (s *stacks) spoiled() (g *scoll.Group) {
	s.t.Helper()
	s.fabric.Do(0, func(*simlnd.Host) {
		s.nodes[0].agent.CreateGroup(scoll.GroupConfig{Service: 9, Members: s.members, Done: func(made *scoll.Group, err error) {
			if g = made; err != nil {
				s.t.Error(err)
			}
		}})
	})
	s.run(0)
	return g
}
