package scenario

import (
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/sim"
)

// setup makes the Setup of one run.
func (f *File) setup(nodes int, seed uint64, level Level) (*Setup, error) {
	s := &f.settings
	t, err := s.topology(nodes)
	if err != nil {
		return nil, err
	}
	on := Network{
		Nodes: nodes, Seed: seed, Topology: t, AccessRate: s.access, CPU: s.cpu, Inbox: s.inbox, StartAt: s.startAt(nodes),
	}
	return &Setup{Network: on, Level: level, Options: f.Options}, nil
}

func (s *settings) topology(nodes int) (sim.Topology, error) {
	inside := s.link.Apply(link.Quality{})
	g := s.groups
	if g == nil {
		return &sim.Flat{Link: inside}, nil
	}
	uplink := g.uplink
	if g.oversubscribe > 0 {
		uplink = max(1, int64(float64(s.access)*float64(g.size)/g.oversubscribe))
	}
	return sim.NewGroups(nodes, min(g.size, nodes), inside, g.apart.Apply(inside), uplink)
}

// startAt says when each node starts; nil: all at once.
func (s *settings) startAt(nodes int) func(sim.NodeID) time.Duration {
	if s.bootOver == 0 && len(s.bootAt) == 0 {
		return nil
	}
	return func(id sim.NodeID) time.Duration {
		at := time.Duration(float64(s.bootOver) * float64(id) / float64(nodes))
		for _, b := range s.bootAt {
			if b.set.Of.Has(id) {
				at = b.at
			}
		}
		return at
	}
}
