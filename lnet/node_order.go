package lnet

import (
	"slices"

	"ulnet/lnet/nid"
)

// Order puts the NIs with the given NIDs into the order of these NIDs. Together they keep their places
// in the list of NIs, and all other NIs stay where they are. The NID of the first NI besides lo is the node's
// primary NID. NIDs that no NI has are ignored.
func (n *Node) Order(ids []nid.NID) {
	if n.order(ids) {
		n.tellNIWatchers()
	}
}

// order does what Order describes, and reports whether an NI has another place now.
func (n *Node) order(ids []nid.NID) (changed bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := *n.nis.Load()
	var named []*NI
	for _, ni := range list {
		if slices.Contains(ids, ni.nid) {
			named = append(named, ni)
		}
	}
	slices.SortStableFunc(named, func(a, b *NI) int { return slices.Index(ids, a.nid) - slices.Index(ids, b.nid) })
	next := slices.Clone(list)
	for i, ni := range next {
		if slices.Contains(ids, ni.nid) {
			next[i], named = named[0], named[1:]
		}
	}
	if slices.Equal(next, list) {
		return false
	}
	n.nis.Store(&next)
	n.look()
	return true
}
