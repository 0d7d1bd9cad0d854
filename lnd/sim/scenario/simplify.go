package scenario

import (
	"slices"
	"time"

	"ulnet/lnd/sim"
)

// simplify makes the faults that are left simpler, one by one: fewer nodes,
// rounder times.
func (s *shrinker) simplify() error {
	for i := 0; i < len(s.faults); i++ {
		for again := true; again; {
			again = false
			for _, simpler := range s.simpler(s.faults[i]) {
				list := slices.Clone(s.faults)
				list[i] = simpler
				if _, left := s.consistent(list, s.commands); len(left) != len(list) {
					continue
				}
				bad, err := s.fails(list, s.commands)
				if err != nil {
					return err
				}
				if bad {
					s.faults, again = list, true
					break
				}
			}
		}
	}
	return nil
}

// cost is the length of the file as text, which shrinking reduces.
func (s *shrinker) cost() int { return len(s.file(s.faults, s.commands).Format()) }

// simpler returns variants of f. In each of them one thing is simpler, such as a set or a time; of
// the variants for one thing the simplest comes first.
func (s *shrinker) simpler(f *fault) []*fault {
	var list []*fault
	try := func(change func(*fault)) {
		c := *f
		c.do.sets = slices.Clone(f.do.sets)
		change(&c)
		list = append(list, &c)
	}
	a := &f.do
	for _, half := range s.halves(a.nodes.Of) {
		try(func(c *fault) { c.do.nodes.Of = half })
	}
	for _, half := range s.halves(a.to.Of) {
		try(func(c *fault) { c.do.to.Of = half })
	}
	for i := range a.sets {
		for _, half := range s.halves(a.sets[i].Of) {
			try(func(c *fault) { c.do.sets[i].Of = half })
		}
	}
	if a.keep {
		try(func(c *fault) { c.do.keep = false })
	}
	for _, t := range rounder(f.at) {
		try(func(c *fault) { c.at = t })
	}
	if a.verb == "pause" || a.verb == "slow" || a.verb == "stall" {
		for _, t := range rounder(a.time) {
			try(func(c *fault) { c.do.time = t })
		}
	}
	return slices.DeleteFunc(list, func(c *fault) bool {
		return c.last() > s.plain.Length || c.do.verb == "pause" && (c.do.time == 0) != (a.time == 0)
	})
}

// halves returns smaller sets to try in place of a set of several nodes: its two halves. If a half
// has more than one node, a set of a single node comes before them.
func (s *shrinker) halves(set sim.NodeSet) []sim.NodeSet {
	n := set.Len(s.plain.Nodes)
	if n < 2 {
		return nil
	}
	ids := slices.Collect(set.All(s.plain.Nodes))
	halves := []sim.NodeSet{sim.Nodes(ids[:n/2]...), sim.Nodes(ids[n/2:]...)}
	if n > 3 {
		halves = append([]sim.NodeSet{sim.Nodes(ids[0])}, halves...)
	}
	return halves
}

// rounder returns times near t with fewer digits, the shortest first.
func rounder(t time.Duration) []time.Duration {
	var list []time.Duration
	for _, unit := range []time.Duration{time.Second, 100 * time.Millisecond, 10 * time.Millisecond, time.Millisecond} {
		for _, r := range []time.Duration{t.Round(unit), t.Truncate(unit), t.Truncate(unit) + unit} {
			if r != t && t%unit != 0 && !slices.Contains(list, r) {
				list = append(list, r)
			}
		}
	}
	return list
}
