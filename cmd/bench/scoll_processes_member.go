package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"ulnet/cmd/bench/worker"
	"ulnet/lnd"
	"ulnet/lnd/socklnd"
	"ulnet/lnet/nid"
	"ulnet/scoll"
	"ulnet/scoll/tree"
)

// collectiveService is the service that receives the broadcasts.
const collectiveService scoll.ServiceID = 1

// serveMember starts the member that a worker process runs.
func serveMember(w *worker.Worker, setup memberSetup) netip.AddrPort {
	m := newMember(setup)
	w.Defer(m.close)
	worker.Order(w, "join", returning(func(addrs []netip.AddrPort) bool {
		topology, _ := setup.Tree.Topology()
		m.raw.connect(tree.Tree{Topology: topology, N: len(setup.Addrs)}, setup.Rank, addrs)
		if setup.Rank > 0 {
			go m.raw.serve() // this goroutine runs until the parent closes the connection
		}
		return true
	}))
	worker.Order(w, "usage", ownUsage)
	worker.Order(w, "broadcast", m.run)
	return m.raw.addr()
}

// member is a member of a group that takes part in collectives, and in a tree of plain TCP
// connections.
type member struct {
	*node
	raw   rawMember
	agent *scoll.Agent
	group *scoll.Group // the group that the root broadcasts to; nil at other members
	nodes int

	states sync.Pool // free values of type *sums
	memory []byte    // buffer that bulk data is received into

	// These fields are the state of the run at the root.
	current collectiveRun
	payload []byte
	left    int // number of broadcasts of the run that are still to be sent
	began   time.Time
	took    latencies
	done    chan error
}

// sums is the state of a request at a member: the sums of its children and its own.
type sums struct {
	children [][8]byte
	total    atomic.Uint64 // sum of the children's answers so far; atomic, because children answer concurrently
	own      [8]byte
}

func newMember(setup memberSetup) *member {
	m := &member{nodes: len(setup.Addrs), memory: make([]byte, bulk), done: make(chan error, 1)}
	m.states.New = func() any { return new(sums) }
	self := setup.Addrs[setup.Rank]
	m.raw.listener = must(net.Listen("tcp", netip.AddrPortFrom(self, 0).String()))
	m.node = newNodeWith(self, socklnd.Config{AcceptPort: setup.Port, BusyPoll: setup.BusyPoll}, lnd.Tunables{})
	// The time-outs are so long that they do not expire on a busy machine.
	m.agent = must(scoll.New(m.table, scoll.Config{
		RTT: collectiveTimeout / 10, Worker: func(f func()) { go f() },
	}))
	succeed(m.agent.RegisterService(m.service()))
	if setup.Rank == 0 {
		m.create(setup)
	}
	return m
}

// create creates the group. The other members learn of it with the first broadcast.
func (m *member) create(setup memberSetup) {
	var targets []scoll.Target
	for i, addr := range setup.Addrs {
		targets = append(targets, scoll.Target{NID: nid.FromAddr(tcp, addr), Entities: []scoll.Entity{{byte(i)}}})
	}
	var err error
	m.agent.CreateGroup(scoll.GroupConfig{
		Service: collectiveService, Members: must(scoll.NewMembership(targets)), Tree: setup.Tree,
		Done: func(g *scoll.Group, e error) { m.group, err = g, e }, // CreateGroup calls Done before it returns
	})
	succeed(err)
}

func (m *member) service() scoll.Service {
	return scoll.Service{
		ID: collectiveService, Inline: true, Reuse: true,
		PreRequest: func(r *scoll.Request) error {
			if n := r.BulkLength(); n > 0 {
				if err := r.SetBulk(m.memory[:n]); err != nil {
					return err
				}
			}
			return m.post(r)
		},
		IncomingRequest: func(*scoll.Request) error { return nil },
		IncomingReply: func(p *scoll.Reply) {
			if len(p.Payload) == 8 {
				p.Request.Data.(*sums).total.Add(binary.LittleEndian.Uint64(p.Payload))
			}
		},
		PostReply: func(r *scoll.Request) {
			s := r.Data.(*sums)
			if r.Root() {
				m.completed(r, s)
				return
			}
			binary.LittleEndian.PutUint64(s.own[:], s.total.Load())
			_ = r.Reply(s.own[:]) // an error needs no report: if it fails, the sum at the root is wrong, which the root reports
		},
		ReplyOut: func(r *scoll.Request) { m.states.Put(r.Data) },
	}
}

// post attaches a state to a request. The state contains a buffer for each child's answer.
func (m *member) post(r *scoll.Request) error {
	s := m.states.Get().(*sums)
	r.Data = s
	s.total.Store(1)
	for len(s.children) < r.Children() {
		s.children = append(s.children, [8]byte{})
	}
	for i := range r.Children() {
		if err := r.PostReply(i, s.children[i][:]); err != nil {
			return err
		}
	}
	return nil
}

// run sends the broadcasts of a run one after another, and returns their times.
func (m *member) run(r collectiveRun) (latencies, error) {
	if r.Raw {
		return m.raw.broadcast(r, m.nodes)
	}
	m.current, m.left, m.took = r, r.Warm+r.Count, make(latencies, 0, r.Count)
	m.payload = make([]byte, r.Bytes)
	m.group.SetSegment(r.Segment)
	if err := m.next(); err != nil {
		return nil, err
	}
	err := <-m.done
	return m.took, err
}

// next sends the next broadcast.
func (m *member) next() error {
	m.began = time.Now()
	cfg := scoll.RequestConfig{Payload: m.payload, Processing: collectiveTimeout}
	if m.current.Bulk {
		cfg.Payload, cfg.Bulk = nil, [][]byte{m.payload}
	}
	r, err := m.group.NewRequest(cfg)
	if err != nil {
		return err
	}
	if err := m.post(r); err != nil {
		return err
	}
	return r.Send()
}

// completed is called at the root when a broadcast is complete.
func (m *member) completed(r *scoll.Request, s *sums) {
	elapsed := time.Since(m.began)
	m.left--
	if m.left < m.current.Count {
		m.took = append(m.took, float64(elapsed))
	}
	total := s.total.Load()
	m.states.Put(s)
	var err error
	if total != uint64(m.nodes) {
		err = fmt.Errorf("the sum is %d: status %v, unreached %v", total, r.Status(), r.Unreached())
	}
	if err == nil && m.left > 0 {
		if err = m.next(); err == nil {
			return
		}
	}
	m.done <- err
}

func (m *member) close() {
	m.raw.close()
	_ = m.agent.Close(context.Background()) // Close waits until all operations have ended
	m.node.close()
}
