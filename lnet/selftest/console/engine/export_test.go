package engine

import "fmt"

// Invariants returns an error if two of the machine's own counts contradict each other.
func (c *Console) Invariants() error {
	held, uses := map[*node]int{}, map[*group]int{}
	for _, o := range c.operations {
		for _, n := range o.nodes {
			held[n]++
		}
		for _, g := range o.groups {
			uses[g]++
		}
	}
	under := map[*transaction]int{}
	for id, r := range c.calls {
		if r.id != id || !r.due.IsSet() {
			return fmt.Errorf("call %d: %+v", id, r)
		}
		under[r.of]++
	}
	for _, t := range c.queue {
		under[t] += len(t.nodes) - t.next
	}
	for t, n := range under {
		if n != t.left || n == 0 {
			return fmt.Errorf("a transaction has %d RPCs under way or waiting, and %d left", n, t.left)
		}
	}
	if len(c.calls) > c.cfg.MaxCalls {
		return fmt.Errorf("%d calls", len(c.calls))
	}
	if c.session == nil {
		if len(c.calls)+len(c.operations) > 0 || c.deadlines.First() != nil {
			return fmt.Errorf("without a session: %d calls, %d operations", len(c.calls), len(c.operations))
		}
		return nil
	}
	return c.session.invariants(held, uses)
}

func (s *session) invariants(held map[*node]int, uses map[*group]int) error {
	members, all := map[*node]int{}, 0
	for _, g := range s.groups {
		if g.uses != uses[g] || len(g.nodes) != len(g.has) {
			return fmt.Errorf("group %s has %d uses, not %d; %d nodes, not %d", g.name, g.uses, uses[g], len(g.nodes), len(g.has))
		}
		all += len(g.nodes)
		for _, n := range g.nodes {
			members[n]++
		}
	}
	for _, b := range s.batches {
		for _, n := range append(b.clients.nodes[:len(b.clients.nodes):len(b.clients.nodes)], b.servers.nodes...) {
			members[n]++
		}
	}
	joined := 0
	for _, n := range s.nodes {
		if n.members != members[n] || n.held != held[n] || n.members+n.held == 0 || s.byID[n.id] != n {
			return fmt.Errorf("node %v is in %d groups, not %d, held %d times, not %d", n.id, n.members, members[n], n.held, held[n])
		}
		if n.joined {
			joined++
		}
	}
	if all != s.members || len(s.nodes) != len(s.byID) || joined != s.joined {
		return fmt.Errorf("%d members, not %d; %d nodes, not %d; %d joined, not %d", s.members, all, len(s.nodes), len(s.byID), s.joined, joined)
	}
	return nil
}
