package engine

import "slices"

// set is a set of nodes in the order in which they were added.
type set struct {
	nodes []*node
	has   map[*node]bool
}

// add adds a node, and reports whether it is new in the set. A node in a set is not forgotten.
func (s *set) add(n *node) bool {
	if s.has[n] {
		return false
	}
	if s.has == nil {
		s.has = map[*node]bool{}
	}
	s.nodes, s.has[n] = append(s.nodes, n), true
	n.members++
	return true
}

// drop takes nodes out of the set, and returns how many of them were in it.
func (s *set) drop(nodes []*node) (count int) {
	for _, n := range nodes {
		if s.has[n] {
			delete(s.has, n)
			n.members--
			count++
		}
	}
	s.nodes = slices.DeleteFunc(s.nodes, func(n *node) bool { return !s.has[n] })
	return count
}

// active reports whether all nodes are active, and whether any is.
func (s *set) active() (all, any bool) {
	all = true
	for _, n := range s.nodes {
		if n.state == Active {
			any = true
		} else {
			all = false
		}
	}
	return all, any
}

// in returns the nodes that are in one of the given states.
func (s *set) in(states []State) (list []*node) {
	for _, n := range s.nodes {
		if slices.Contains(states, n.state) {
			list = append(list, n)
		}
	}
	return list
}
