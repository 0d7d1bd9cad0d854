package engine

import "ulnet/scoll/wire"

// lists are the memberships of the regular groups in a table, by digest. Groups with
// the same list share one copy: in a cluster whose servers all make a group of all, a
// thousand groups take the memory of one. A request over a group that this node does
// not know, or has forgotten, but whose list it has, is taken without asking for it:
// the digest says that it is the same list.
type lists map[wire.Digest]*list

type list struct {
	members *wire.Membership
	groups  int
}

// add notes that a group is in the table.
func (l lists) add(g *group) {
	if g.isOOB() { // its list is the service's, and may change
		return
	}
	k := l[g.key.id.Digest]
	if k == nil {
		k = &list{members: g.members}
		l[g.key.id.Digest] = k
	}
	k.groups++
}

// release notes that a group is no longer there.
func (l lists) release(g *group) {
	if g.isOOB() {
		return
	}
	k := l[g.key.id.Digest]
	if k.groups--; k.groups == 0 {
		delete(l, g.key.id.Digest)
	}
}

// of returns the membership with a digest, nil if no group has it.
func (l lists) of(d wire.Digest) *wire.Membership {
	if k := l[d]; k != nil {
		return k.members
	}
	return nil
}
