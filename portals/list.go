package portals

import (
	"hash/maphash"
	"math/bits"

	"ulnet/lnet/nid"
)

// The MEs of a portal that a message could match form a ring in the order in which they are
// tried. The variable that holds the first one is called the ring's head. The MEs with ignore
// bits are one ring; the others have a ring for each value that they match, which the portal's
// index finds. LNet hashes MEs without ignore bits by the low match bits. Only MEs with equal
// bits compete for a message, so a ring per value keeps LNet's order.
//
// All links are slot numbers: an ME has no pointers, and the garbage collector
// does not look at a million of them.

// me is a match entry (struct lnet_me): one cache line. Guarded by the lock of
// its portal.
type me struct {
	match      Match
	generation uint32
	md         uint32 // slot of the attached MD plus 1; 0: none
	next, prev meRef  // neighbours in the ring
	chain      meRef  // of the first ME of a ring: the first ME of the next ring in the same bucket of the index
	unlink     UnlinkOption
	live       bool
}

// meRef names an ME of a portal: its slot plus 1; 0 is none.
type meRef uint32

func (p *portal) me(ref meRef) *me { return p.mes.at(uint32(ref) - 1) }

// insert puts the ME ref on its ring.
func (p *portal) insert(ref meRef, pos InsertPosition) {
	p.changes.Add(1)
	e := p.me(ref)
	head := p.head(e)
	if first := *head; first == 0 {
		e.next, e.prev = ref, ref
		*head = ref
		if e.match.Ignore == 0 {
			p.grow()
		}
	} else {
		p.linkBefore(first, ref)
		if pos == Before {
			p.replaceHead(head, ref)
		}
	}
}

// insertAt puts an ME on its ring, before or after one that is on it.
func (p *portal) insertAt(at, ref meRef, pos InsertPosition) {
	p.changes.Add(1)
	if pos == After {
		p.linkBefore(p.me(at).next, ref)
		return
	}
	p.linkBefore(at, ref)
	if head := p.head(p.me(ref)); *head == at {
		p.replaceHead(head, ref)
	}
}

// remove takes the ME ref off its ring.
func (p *portal) remove(ref meRef) {
	p.changes.Add(1)
	e := p.me(ref)
	head := p.head(e)
	if e.next == ref {
		*head = e.chain
		if e.match.Ignore == 0 {
			p.exact.rings--
		}
	} else {
		if *head == ref {
			p.replaceHead(head, e.next)
		}
		p.me(e.prev).next, p.me(e.next).prev = e.next, e.prev
	}
	e.next, e.prev, e.chain = 0, 0, 0
}

func (p *portal) linkBefore(at, ref meRef) {
	e, next := p.me(ref), p.me(at)
	e.next, e.prev = at, next.prev
	p.me(e.prev).next, next.prev = ref, ref
}

// replaceHead makes another ME of a ring its first.
func (p *portal) replaceHead(head *meRef, ref meRef) {
	old, e := p.me(*head), p.me(ref)
	e.chain, old.chain = old.chain, 0
	*head = ref
}

// head returns the variable with the first ME of the ring that e belongs to; its value is 0
// if the ring is empty.
func (p *portal) head(e *me) *meRef {
	if e.match.Ignore != 0 {
		return &p.ignoring
	}
	return p.lookUp(p.keyOf(e))
}

// matchKey is the key by which the index finds MEs without ignore bits: the match bits, and
// on a unique portal the initiator as well.
type matchKey struct {
	bits uint64
	id   nid.ProcessID
}

func (p *portal) key(bits uint64, id nid.ProcessID) matchKey {
	if p.kind == unique {
		return matchKey{bits, id}
	}
	return matchKey{bits: bits}
}

func (p *portal) keyOf(e *me) matchKey { return p.key(e.match.Bits, e.match.ID) }

// index finds rings by what their MEs match. It is a hash table that grows by
// one bucket with each ring (linear hashing), so that no single call pays for
// the growth of the table.
type index struct {
	seed    maphash.Seed
	buckets []meRef // for each bucket: the first ME of the first of its rings, which are linked by me.chain; there are as many buckets as there ever were rings at a time
	rings   int
}

func (x *index) hash(k matchKey) uint64 {
	if x.buckets == nil {
		x.seed, x.buckets = maphash.MakeSeed(), make([]meRef, 1)
	}
	return maphash.Comparable(x.seed, k)
}

// bucket returns the bucket of rings with this hash. The low bits of the hash give the bucket's
// number. If that bucket has not been added yet, one bit less is used.
func (x *index) bucket(hash uint64) uint64 {
	n := uint64(len(x.buckets))
	mask := uint64(1)<<bits.Len64(n-1) - 1
	if b := hash & mask; b < n {
		return b
	}
	return hash & (mask >> 1)
}

// find returns the head of the ring of entries for messages with these match bits and, on a portal
// whose entries name their initiators, from this initiator; 0 if there is none.
func (p *portal) find(bits uint64, id nid.ProcessID) meRef {
	if p.exact.rings == 0 {
		return 0
	}
	return *p.lookUp(p.key(bits, id))
}

// lookUp returns the variable that holds, or would hold, the first ME of the ring for a key.
func (p *portal) lookUp(k matchKey) *meRef {
	hash := p.exact.hash(k)
	link := &p.exact.buckets[p.exact.bucket(hash)]
	for *link != 0 {
		e := p.me(*link)
		if p.keyOf(e) == k {
			break
		}
		link = &e.chain
	}
	return link
}

// grow counts a new ring. If there are more rings than buckets, it adds a bucket, and moves
// the rings that belong there from the bucket that was split.
func (p *portal) grow() {
	x := &p.exact
	if x.rings++; x.rings <= len(x.buckets) {
		return
	}
	added := uint64(len(x.buckets))
	x.buckets = append(x.buckets, 0)
	from := &x.buckets[added&^(1<<(bits.Len64(added)-1))]
	to := &x.buckets[added]
	for *from != 0 {
		e := p.me(*from)
		if x.bucket(x.hash(p.keyOf(e))) != added {
			from = &e.chain
			continue
		}
		*to, *from = *from, e.chain
		to = &e.chain
		*to = 0
	}
}
