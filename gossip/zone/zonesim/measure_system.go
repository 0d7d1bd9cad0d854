package zonesim

import (
	"context"
	"fmt"
	"time"

	"ulnet/gossip/zone/engine"
	"ulnet/lnd/sim"
)

// System is a system of base zones with a management zone that has started.
type System struct {
	Boot    time.Duration // time until every supervisor had the whole census
	Members int           // members of all zones together, including the management zone

	m Measured
	n *Net
}

// System starts a system of zones, all nodes at once.
func (m Measured) System(ctx context.Context) (*System, error) {
	n, err := m.start(ctx)
	if err != nil {
		return nil, err
	}
	s := &System{Boot: n.Now(), Members: m.Supervisors, m: m, n: n}
	for _, g := range n.bases() {
		s.Members += n.size(g)
	}
	return s, m.rest(n)
}

// lose kills a member of a base zone that is not its active delegate, and returns the size of
// the zone after that.
func (s *System) lose(base int) (size int, err error) {
	g := s.n.bases()[base]
	if g.base > 0 {
		s.n.Command(g.first, "lose 1")
		return s.n.size(g), nil
	}
	_, delegate, ok := s.n.guard(base)
	if !ok {
		return 0, fmt.Errorf("zonesim: nobody knows %s", g.name)
	}
	for id := range g.nodes.All(s.m.Nodes) {
		if id != delegate && s.n.Up(id) {
			s.n.Kill(id)
			break
		}
	}
	return s.n.size(g), nil
}

// Leave kills a member of a base zone. It returns the time until a supervisor knew of the
// death, on average, and the time until the last one knew (G-MS-4).
func (s *System) Leave(ctx context.Context, base int) (mean, last time.Duration, err error) {
	n, g := s.n, s.n.bases()[base]
	guard, _, _ := n.guard(base)
	begin, sum, knowing := n.Now(), time.Duration(0), 0
	want, err := s.lose(base)
	if err != nil {
		return 0, 0, err
	}
	know := make([]bool, s.m.Supervisors)
	look := func(at time.Duration, id sim.NodeID) {
		if e, _ := n.entry(id, g); !know[id] && e.Size == want {
			know[id] = true
			last = at - begin
			sum, knowing = sum+last, knowing+1
		}
	}
	n.cfg.Tell = func(at time.Duration, id sim.NodeID, e *engine.Event) {
		if e.Kind == engine.AttributesChanged && int(id) < len(know) {
			look(at, id)
		}
	}
	err = s.m.until(ctx, n, time.Millisecond, func() (bool, string) {
		look(n.Now(), guard)
		return knowing == len(know), fmt.Sprintf("%d supervisors know of %d", knowing, len(know))
	})
	n.cfg.Tell = nil
	return sum / time.Duration(len(know)), last, err
}

// Settle kills members of all base zones over a second, and returns how long after the last
// death every supervisor had the whole census (G-MS-9).
func (s *System) Settle(ctx context.Context, deaths int) (time.Duration, error) {
	zones := len(s.n.bases())
	for k := range deaths {
		if _, err := s.lose(int((s.m.Seed + uint64(k)*7919) % uint64(zones))); err != nil {
			return 0, err
		}
		if err := s.n.Run(s.n.Now() + time.Second/time.Duration(deaths)); err != nil {
			return 0, err
		}
	}
	begin := s.n.Now() - time.Second/time.Duration(deaths)
	err := s.m.until(ctx, s.n, 10*time.Millisecond, func() (bool, string) { return s.n.censusRight(sim.AllNodes) })
	return s.n.Now() - begin, err
}

// Rest runs the system for a while.
func (s *System) Rest(d time.Duration) error { return s.n.Run(s.n.Now() + d) }
