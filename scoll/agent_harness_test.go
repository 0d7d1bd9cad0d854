package scoll_test

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/lnetsim"
	"ulnet/portals"
	"ulnet/scoll"
)

const service scoll.ServiceID = 3

// stack is an agent on a simulated host, with a service that collects the numbers of the nodes that ran a
// request.
type stack struct {
	t     *testing.T
	host  *simlnd.Host
	table *portals.Table
	agent *scoll.Agent
	id    int

	ran      []string // payloads of the requests that ran
	bulk     []byte
	entries  int
	ended    int
	repeated int
	refuses  int  // number of requests that the service will refuse
	poison   bool // the service overwrites the request's payload
	writes   bool // the service overwrites the request's bulk data
	mapped   *scoll.Membership
	done     []outcome
	errs     []error
	kept     *scoll.Request // the request of the last PreRequest
	replies  []scoll.Reply
	extra    int // bytes by which the reply exceeds the expected size
	parts    int // the number of parts of a reply, if above 1
	size     int // payload size of replies in bytes; 0: the collected numbers are the payload
}

// outcome is the result of a broadcast at its root.
type outcome struct {
	at        time.Duration
	answered  []int
	unreached []scoll.Unreached
	status    scoll.Status
}

// collected holds the answers of a node's children.
type collected struct{ got []byte }

// stacks is a set of agents on simulated hosts.
type stacks struct {
	t       *testing.T
	fabric  *simlnd.Fabric
	nodes   []*stack
	members *scoll.Membership
	config  func(id int, cfg *scoll.Config)
}

func newStacks(t *testing.T, n int, config func(int, *scoll.Config)) *stacks {
	t.Helper()
	return newStacksAt(t, n, 0, config)
}

// newStacksAt makes n stacks. Each host can send rate bits per second.
func newStacksAt(t *testing.T, n int, rate int64, config func(int, *scoll.Config)) *stacks {
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
	node, err := lnetsim.NewStack(h, lnetsim.StackConfig{})
	if err != nil {
		s.t.Error(err)
		return
	}
	k := &stack{t: s.t, host: h, table: node.Table, id: int(h.ID()), mapped: s.members}
	s.nodes[k.id] = k
	var cfg scoll.Config
	cfg.RTT = time.Millisecond
	if s.config != nil {
		s.config(k.id, &cfg)
	}
	if k.agent, err = scoll.New(k.table, cfg); err != nil {
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

// service returns a service that collects the numbers of the nodes.
func (k *stack) service() scoll.Service {
	got := map[*scoll.Request]*collected{}
	return scoll.Service{
		ID: service,
		PreRequest: func(r *scoll.Request) error {
			k.kept = r
			if r.Repeated() {
				k.repeated++
			}
			delete(got, r) // remove the children's answers of an earlier attempt
			if k.refuses--; k.refuses >= 0 {
				return scoll.EBUSY
			}
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
			if r.BulkStatus() != scoll.OK {
				return nil
			}
			k.ran = append(k.ran, string(r.Payload()))
			k.entries += len(r.Entities())
			if k.writes {
				r.Bulk()[0][0]++
			}
			k.bulk = k.bulk[:0]
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
			o := outcome{at: k.host.Clock().Now(), unreached: r.Unreached(), status: r.Status()}
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
	if err := r.Reply(append(own, make([]byte, k.extra)...)); err != nil {
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

// broadcast sends a request from a node and returns the result.
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

// all fails the test unless all nodes answered, and each node ran the requests with the payloads in want, in
// this order and no others.
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
