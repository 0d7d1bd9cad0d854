package scoll_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/link"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/scoll"
)

const service scoll.ServiceID = 3

// stack is an agent on a simulated host, with a service that collects who ran.
type stack struct {
	t     *testing.T
	host  *simlnd.Host
	table *portals.Table
	agent *scoll.Agent
	id    int

	ran     []string // payloads
	bulk    []byte
	entries int
	ended   int
	poison  bool // scribbles into the request
	writes  bool // and into bulk data
	mapped  *scoll.Membership
	done    []outcome
	errs    []error
	kept    *scoll.Request // of the last PreRequest
	replies []scoll.Reply
	parts   int // of replies, above 1
	size    int // of the payload of replies; 0: what was collected
}

// outcome is how a broadcast ended at its root.
type outcome struct {
	at        time.Duration
	answered  []int
	unreached []scoll.Unreached
	status    scoll.Status
}

// collected is what a node has heard from its children.
type collected struct{ got []byte }

// stacks is agents on simulated hosts.
type stacks struct {
	t       *testing.T
	fabric  *simlnd.Fabric
	nodes   []*stack
	members *scoll.Membership
	config  func(id int, cfg *scoll.AgentConfig)
}

func newStacks(t *testing.T, n int, config func(int, *scoll.AgentConfig)) *stacks {
	t.Helper()
	return newStacksAt(t, n, 0, config)
}

// newStacksAt gives each host so many bits per second.
func newStacksAt(t *testing.T, n int, rate int64, config func(int, *scoll.AgentConfig)) *stacks {
	t.Helper()
	s := &stacks{t: t, nodes: make([]*stack, n), config: config}
	targets := make([]scoll.Target, n)
	for i := range targets {
		targets[i] = scoll.Target{NID: simlnd.NID(sim.NodeID(i)), Entities: []scoll.Entity{{byte(i), 1}, {byte(i), 2}}}
	}
	var err error
	if s.members, err = scoll.NewMembership(targets); err != nil {
		t.Fatal(err)
	}
	s.fabric, err = simlnd.New(simlnd.Config{
		Nodes: n, Seed: 1, Boot: s.boot, AccessRate: rate,
		Topology: &sim.Flat{Link: link.Quality{Latency: link.Dist{Base: 100 * time.Microsecond}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.run(time.Millisecond)
	return s
}

func (s *stacks) boot(h, _ *simlnd.Host) {
	node := lnet.New(lnet.Config{Incarnation: h.Incarnation(), Clock: h.Clock()})
	k := &stack{t: s.t, host: h, table: portals.New(node), id: int(h.ID()), mapped: s.members}
	s.nodes[k.id] = k
	if _, err := node.AddNI(h.Driver(), lnd.Config{Net: simlnd.Net}); err != nil {
		s.t.Error(err)
		return
	}
	cfg := scoll.AgentConfig{Worker: func(f func()) { h.Clock().AfterFunc(time.Microsecond, f) }}
	cfg.RTT = time.Millisecond
	if s.config != nil {
		s.config(k.id, &cfg)
	}
	var err error
	if k.agent, err = scoll.Start(k.table, cfg); err != nil {
		s.t.Error(err)
		return
	}
	if err := k.agent.RegisterService(k.service()); err != nil {
		s.t.Error(err)
	}
}

func (s *stacks) run(d time.Duration) {
	s.t.Helper()
	if err := s.fabric.Run(s.fabric.Now() + d); err != nil {
		s.t.Fatal(err)
	}
}

// service is one that collects the numbers of the nodes.
func (k *stack) service() scoll.Service {
	got := map[*scoll.Request]*collected{}
	return scoll.Service{
		ID: service,
		PreRequest: func(r *scoll.Request) error {
			k.kept = r
			delete(got, r) // of an earlier attempt
			if k.poison {
				clear(r.Payload())
			}
			if n := r.BulkLength(); n > 0 {
				if err := r.SetBulk(make([]byte, n/3), make([]byte, n-n/3)); err != nil {
					return err
				}
			}
			return k.post(r)
		},
		IncomingRequest: func(r *scoll.Request) error {
			k.ran = append(k.ran, string(r.Payload()))
			k.entries += len(r.Entities())
			if k.writes {
				r.Bulk()[0][0]++
			}
			k.bulk = nil
			for _, b := range r.Bulk() {
				k.bulk = append(k.bulk, b...)
			}
			return nil
		},
		IncomingReply: func(p *scoll.Reply) {
			k.replies = append(k.replies, *p)
			if got[p.Request] == nil {
				got[p.Request] = &collected{}
			}
			got[p.Request].got = append(got[p.Request].got, p.Payload...)
		},
		PostReply: func(r *scoll.Request) {
			own := binary.LittleEndian.AppendUint32(nil, uint32(k.id))
			if c := got[r]; c != nil {
				own = append(own, c.got...)
			}
			delete(got, r)
			if !r.Root() {
				k.reply(r, own)
				return
			}
			o := outcome{at: time.Duration(k.host.Clock().Now()), unreached: r.Unreached(), status: r.Status()}
			for b := own; len(b) >= 4; b = b[4:] {
				o.answered = append(o.answered, int(binary.LittleEndian.Uint32(b)))
			}
			slices.Sort(o.answered)
			k.done = append(k.done, o)
		},
		ReplyOut: func(*scoll.Request) { k.ended++ },
		MapGroup: func(scoll.OOBID) (*scoll.Membership, error) { return k.mapped, nil },
	}
}

func (k *stack) post(r *scoll.Request) error {
	for i := range r.Children() {
		for range max(k.parts, 1) {
			if err := r.PostReply(i, make([]byte, max(4*r.Child(i).Nodes, k.size))); err != nil {
				return err
			}
		}
	}
	return nil
}

func (k *stack) reply(r *scoll.Request, own []byte) {
	for i := range k.parts - 1 {
		if err := r.ReplyPart(slices.Repeat([]byte{byte(i)}, k.size)); err != nil {
			k.errs = append(k.errs, err)
		}
	}
	if err := r.Reply(own); err != nil {
		k.errs = append(k.errs, err)
	}
}

// group creates a group at a node.
func (s *stacks) group(root int, now bool, shape scoll.Tree) (g *scoll.Group) {
	s.t.Helper()
	var failed error
	s.fabric.Do(sim.NodeID(root), func(*simlnd.Host) {
		s.nodes[root].agent.CreateGroup(scoll.GroupConfig{
			Service: service, Name: "all", Private: 42, Members: s.members, Tree: shape, Now: now,
			Done: func(made *scoll.Group, err error) { g, failed = made, err },
		})
	})
	s.run(0)
	if now {
		if g != nil && len(s.nodes) > 1 {
			s.t.Error("SC-18: told before all members know the group")
		}
		s.run(time.Second)
	}
	if failed != nil || g == nil || g.Name() != "all" || g.Private() != 42 {
		s.t.Fatalf("group %v, %v", g, failed)
	}
	return g
}

// broadcast sends a request from a node and returns how it ended.
func (s *stacks) broadcast(root int, g *scoll.Group, cfg scoll.RequestConfig) outcome {
	s.t.Helper()
	k := s.nodes[root]
	before := len(k.done)
	begin := s.fabric.Now()
	var err error
	s.fabric.Do(sim.NodeID(root), func(*simlnd.Host) {
		var r *scoll.Request
		if r, err = g.NewRequest(cfg); err == nil {
			if err = k.post(r); err == nil {
				err = r.Send()
			}
		}
	})
	s.run(10 * time.Second)
	if err != nil || len(k.done) != before+1 {
		s.t.Fatalf("%d outcomes, %v", len(k.done)-before, err)
	}
	o := k.done[before]
	o.at -= begin
	return o
}

// all fails unless everybody answered and ran the request as often as it was
// sent.
func (s *stacks) all(o outcome, want []string) {
	s.t.Helper()
	if len(o.unreached) != 0 || len(o.answered) != len(s.nodes) || o.status != scoll.OK {
		s.t.Fatalf("%d answered, unreached %v, %v", len(o.answered), o.unreached, o.status)
	}
	for _, k := range s.nodes {
		if !slices.Equal(k.ran, want) || k.entries != 2*len(want) || len(k.errs) > 0 {
			s.t.Fatalf("node %d ran %q for %d entities, errors %v", k.id, k.ran, k.entries, k.errs)
		}
	}
}

// TestAgents: SC-15 to SC-19, SC-40 to SC-57 end to end: 64 stacks, both kinds
// of groups, two broadcasts each.
func TestAgents(t *testing.T) {
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

// TestEveryRoot: SC-1, SC-86 and SC-95: every member is the root in turn, with
// the handle from Request.Group, of both kinds of groups.
func TestEveryRoot(t *testing.T) {
	for _, oob := range []bool{false, true} {
		s := newStacks(t, 8, nil)
		g := s.oobOr(t, oob)
		want := []string{"0"}
		s.all(s.broadcast(0, g, scoll.RequestConfig{Payload: []byte("0")}), want)
		for root := 1; root < 8; root++ {
			text := fmt.Sprint(root)
			want = append(want, text)
			s.all(s.broadcast(root, s.nodes[root].kept.Group(), scoll.RequestConfig{Payload: []byte(text)}), want)
		}
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

// TestBulk: SC-31, SC-35, SC-36 and SC-A17: bulk data of several sizes reaches
// everybody over the tree, more than a message carries included.
func TestBulk(t *testing.T) {
	for _, size := range []int{1, 4097, 1 << 20, 5<<20 + 17} {
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

// TestScribble: SC-34 and SC-A29: what a service does to a payload stays there.
func TestScribble(t *testing.T) {
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

// TestParts: SC-54 and SC-154: a reply in several messages, each of which takes
// a buffer.
func TestParts(t *testing.T) {
	s := newStacks(t, 2, nil)
	for _, k := range s.nodes {
		k.parts, k.size = 3, 1<<20-scoll.ReplyHeaderSize-scoll.TrailerEntrySize
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

// TestDeadMember: SC-130: with discovery a dead member fails a broadcast before
// anything is sent.
func TestDeadMember(t *testing.T) {
	view := &fakeView{dead: simlnd.NID(3)}
	s := newStacks(t, 4, func(id int, cfg *scoll.AgentConfig) {
		if id == 0 {
			for i := range 3 {
				view.alive = append(view.alive, simlnd.NID(sim.NodeID(i)))
			}
			cfg.View = view
		}
	})
	g := s.group(0, false, scoll.Tree{})
	_, err := g.NewRequest(scoll.RequestConfig{})
	var dead *scoll.DeadError
	if !errors.As(err, &dead) || !slices.Equal(dead.Dead, []nid.NID{simlnd.NID(3)}) || !errors.Is(err, scoll.EHOSTDOWN) {
		t.Errorf("%v", err)
	}
}

// fakeView is a view that tests decide.
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

// TestRootErrors: SC-9, SC-27, SC-30, SC-26: what a root does wrong.
func TestRootErrors(t *testing.T) {
	s := newStacks(t, 4, nil)
	g := s.group(0, true, scoll.Tree{})
	limit, err := g.MaxPayload()
	if err != nil || limit != scoll.MaxMessage-scoll.RequestHeaderSize {
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
		var missing *scoll.BufferError
		_ = r.PostReply(0, make([]byte, 64))
		if err := r.Send(); !errors.As(err, &missing) || missing.Child != 1 || !errors.Is(err, scoll.EINVAL) {
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

// TestStop: agents end, twice if need be.
func TestStop(t *testing.T) {
	s := newStacks(t, 4, nil)
	g := s.group(0, false, scoll.Tree{})
	s.all(s.broadcast(0, g, scoll.RequestConfig{Payload: []byte("x")}), []string{"x"})
	for i := range s.nodes {
		s.fabric.Do(sim.NodeID(i), func(*simlnd.Host) {
			s.nodes[i].agent.Stop()
			s.nodes[i].agent.Stop()
		})
	}
	s.run(time.Second)
}
