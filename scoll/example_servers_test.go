package scoll_test

import (
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/lnetsim"
	"ulnet/scoll"
)

// servers are LNet nodes of the example, on a simulated network; with lnd/socklnd
// in the place of simlnd they are real ones.
type servers struct {
	fabric  *simlnd.Fabric
	list    []*server
	members *scoll.Membership
}

type server struct{ agent *scoll.Agent }

func newServers(n int) *servers {
	s := &servers{list: make([]*server, n)}
	targets := make([]scoll.Target, n)
	for i := range targets {
		targets[i] = scoll.Target{NID: simlnd.NID(sim.NodeID(i)), Entities: []scoll.Entity{{}}}
	}
	var err error
	if s.members, err = scoll.NewMembership(targets); err != nil {
		panic(err)
	}
	s.fabric, err = simlnd.New(simlnd.Config{
		Nodes: n, Seed: 1, Boot: s.boot, Topology: &sim.Flat{Link: link.Quality{Latency: link.Dist{Base: 100 * time.Microsecond}}},
	})
	if err != nil {
		panic(err)
	}
	s.run(time.Millisecond)
	return s
}

// boot starts a server: a node, its portal table, an agent.
func (s *servers) boot(h, _ *simlnd.Host) {
	node, err := lnetsim.NewStack(h, lnetsim.StackConfig{})
	if err != nil {
		panic(err)
	}
	agent, err := scoll.New(node.Table, scoll.Config{})
	if err != nil {
		panic(err)
	}
	s.list[h.ID()] = &server{agent}
}

func (s *servers) run(d time.Duration) {
	if err := s.fabric.Run(s.fabric.Now() + d); err != nil {
		panic(err)
	}
}

// stop crashes a server, which tells no other node of it.
func (s *servers) stop(id sim.NodeID) { s.fabric.Crash(id) }

// on calls f on a server, and lets time pass.
func (s *servers) on(id sim.NodeID, f func(*server)) {
	s.fabric.Do(id, func(*simlnd.Host) { f(s.list[id]) })
	s.run(time.Minute)
}
