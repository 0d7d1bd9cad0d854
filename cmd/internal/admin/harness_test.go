package admin

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ulnet/lnd/link"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/lnetsim"
	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/scoll"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// epoch is when virtual time begins.
var epoch = time.Unix(1_700_000_000, 0)

// latency is that of a message in the simulated network.
const latency = 100 * time.Microsecond

// server is an agent with the service on a simulated host.
type server struct {
	host  *simlnd.Host
	table *portals.Table
	agent *scoll.Agent
	admin *Service
	skew  time.Duration // deviation of the server's clock from virtual time
}

// servers is a set of servers on one simulated network.
type servers struct {
	t       *testing.T
	fabric  *simlnd.Fabric
	nodes   []*server
	members *scoll.Membership
}

// newServers starts servers whose configuration allows every node everything. The function
// change may modify the configuration.
func newServers(t *testing.T, n int, change func(i int, admin *Config, agent *scoll.Config)) *servers {
	t.Helper()
	s := &servers{t: t, nodes: make([]*server, n)}
	targets := make([]scoll.Target, n)
	for i := range targets {
		targets[i] = scoll.Target{NID: nidOf(i), Entities: []scoll.Entity{{1}}}
	}
	var err error
	if s.members, err = scoll.NewMembership(targets); err != nil {
		t.Fatal(err)
	}
	s.fabric, err = simlnd.New(simlnd.Config{
		Nodes: n, Seed: 1, Topology: &sim.Flat{Link: link.Quality{Latency: link.Dist{Base: latency}}},
		Boot: func(h, _ *simlnd.Host) { s.boot(h, change) },
	})
	if err != nil {
		t.Fatal(err)
	}
	s.run(time.Millisecond)
	t.Cleanup(func() {
		for _, k := range s.nodes {
			k.admin.Close()
		}
	})
	return s
}

func nidOf(i int) nid.NID { return simlnd.NID(sim.NodeID(i)) }

func (s *servers) boot(h *simlnd.Host, change func(int, *Config, *scoll.Config)) {
	k := &server{host: h}
	i := int(h.ID())
	s.nodes[i] = k
	node, err := lnetsim.NewStack(h, lnetsim.StackConfig{})
	if err != nil {
		s.t.Error(err)
		return
	}
	k.table = node.Table
	admin := Config{
		Version: "v1", MayAct: func(nid.NID, nid.NID) bool { return true },
		MaxBulk: 1 << 20, MaxMemory: 64 << 20, MaxActions: 2, Output: 1000, Dir: s.t.TempDir(),
		Worker: func(f func()) { f() }, // runs the function before it returns: that takes no virtual time, so the agent is not blocked
		Now:    func() time.Time { return epoch.Add(h.Clock().Now() + k.skew) },
	}
	agent := scoll.Config{RTT: time.Millisecond}
	if change != nil {
		change(i, &admin, &agent)
	}
	k.admin = New(admin)
	if k.agent, err = scoll.New(node.Table, agent); err == nil {
		err = k.admin.Register(k.agent)
	}
	if err != nil {
		s.t.Error(err)
	}
}

func (s *servers) run(d time.Duration) {
	s.t.Helper()
	if err := s.fabric.Run(s.fabric.Now() + d); err != nil {
		s.t.Fatal(err)
	}
}

// group creates a group of all servers at one of them.
func (s *servers) group(root int) (g *scoll.Group) {
	s.t.Helper()
	s.fabric.Do(sim.NodeID(root), func(*simlnd.Host) {
		s.nodes[root].agent.CreateGroup(scoll.GroupConfig{
			Service: ServiceID, Members: s.members, Done: func(made *scoll.Group, err error) {
				if g = made; err != nil {
					s.t.Error(err)
				}
			},
		})
	})
	s.run(0)
	return g
}

// send sends an order from a server, and runs virtual time until the order has ended.
func (s *servers) send(root int, g *scoll.Group, o Order) *Outcome {
	s.t.Helper()
	return s.sendCall(root, g, o, s.nodes[root].admin.newCall(context.Background(), o))
}

// sendCall is like send, with a call that the test has made.
func (s *servers) sendCall(root int, g *scoll.Group, o Order, c *call) *Outcome {
	s.t.Helper()
	k := s.nodes[root]
	s.fabric.Do(sim.NodeID(root), func(*simlnd.Host) {
		r, err := k.admin.request(g, o, c)
		if err == nil {
			err = k.admin.begin(r, c)
		}
		if err != nil {
			s.t.Error(err)
		}
	})
	for range 100 {
		s.run(time.Second)
		select {
		case <-c.done:
			return &c.outcome
		default:
		}
	}
	s.t.Fatal("it never ends")
	return nil
}

// allAnswered checks that each server answered once and with a status.
func (s *servers) allAnswered(o *Outcome, status scoll.Status) {
	s.t.Helper()
	if len(o.Answers) != len(s.nodes) || len(o.Unreached) > 0 || o.Nodes != len(s.nodes) || o.Status != scoll.OK {
		s.t.Fatalf("%d answers of %d, unreached %v, %v", len(o.Answers), o.Nodes, o.Unreached, o.Status)
	}
	for _, p := range o.Answers {
		if p.Status != status {
			s.t.Errorf("%v: %v, want %v", p.NID, p.Status, status)
		}
	}
}

type simHost = simlnd.Host

// fakeView is a view of discovery in which the first n servers are alive, except those that have
// died.
type fakeView struct {
	n     int
	dead  map[nid.NID]bool
	watch func(nid.NID, bool, uint64)
}

func (v *fakeView) Alive(id nid.NID) (bool, uint64) { return !v.dead[id], 0 }

func (v *fakeView) Watch(f func(nid.NID, bool, uint64)) func() {
	v.watch = f
	for i := range v.n {
		f(nidOf(i), true, 0)
	}
	return func() {}
}

func (v *fakeView) die(i int) {
	v.dead = map[nid.NID]bool{nidOf(i): true}
	v.watch(nidOf(i), false, 1)
}
