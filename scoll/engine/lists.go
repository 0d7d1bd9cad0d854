package engine

import "ulnet/scoll/wire"

// lists are the memberships of the regular groups in a table, by digest. Groups with the
// same list share one copy: if each of a thousand servers creates a group of all servers, the
// thousand groups take the memory of one. If a request names an unknown group but the digest of
// a list that is here, the machine uses that list and does not fetch it from the parent.
type lists map[wire.Digest]*list

type list struct {
	members *wire.Membership
	groups  int
}

// add counts the list of a group that enters the table.
func (l lists) add(g *group) {
	if g.isOOB() { // the list of an out-of-band group belongs to the service, and may change
		return
	}
	k := l[g.key.id.Digest]
	if k == nil {
		k = &list{members: g.members}
		l[g.key.id.Digest] = k
	}
	k.groups++
}

// release stops counting a group that has left the table.
func (l lists) release(g *group) {
	if g.isOOB() {
		return
	}
	k := l[g.key.id.Digest]
	if k.groups--; k.groups == 0 {
		delete(l, g.key.id.Digest)
	}
}

// of returns the membership with a digest, nil if no group in the table has it.
func (l lists) of(d wire.Digest) *wire.Membership {
	if k := l[d]; k != nil {
		return k.members
	}
	return nil
}

// fitsList reports whether the request can be sent with the list of members in the message itself,
// instead of a list that the child fetches.
func (r *request) fitsList() bool {
	h := &r.header
	return wire.RequestHeaderSize+r.group.members.Size()+len(r.body)+h.ProofSize()-h.SumSize() <= wire.MaxMessage
}
