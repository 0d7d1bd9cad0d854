package engine

import "ulnet/gossip/zone/wire"

// state says whether a node is in the view, in the history of those that left or were removed,
// or in neither.
type state uint8

const (
	unknown state = iota
	inView
	inHistory
)

var stateNames = [...]string{"unknown", "member", "gone"}

// entry is what the view has of a node, in 16 bytes.
type entry struct {
	inc     uint64
	minor   uint32
	state   state
	orderly bool // with inHistory: the node left with a goodbye
}

func (e entry) version() wire.Version { return wire.Version{Inc: e.inc, Minor: e.minor} }

// pageSize is the number of entries of a page. Machines and messages share pages that are
// equal: a zone at rest needs the memory of one view for all its machines.
const pageSize = 64

type page struct {
	entries [pageSize]entry
	frozen  bool // the page has more than one user, and is copied on write
}

// view is the map from members to their newest known versions (MS-8). It is also the map from
// former members, those in the history, to the versions with which they left. A node is in at
// most one of the two maps (MS-13).
type view struct {
	table   *Table
	pages   []*page // pages by Ref / pageSize; nil: all nodes on it are unknown
	members int
	gone    int    // number of former members in the history
	bytes   int    // size of the canonical forms of all members' ids
	hash    uint64 // hash of the ids and incarnations of all members, which does not depend on their order (MS-A9)
}

// at returns the entry of a node.
func (v *view) at(r wire.Ref) entry {
	if i := int(r / pageSize); i < len(v.pages) && v.pages[i] != nil {
		return v.pages[i].entries[r%pageSize]
	}
	return entry{}
}

// has reports whether a node is in the view.
func (v *view) has(r wire.Ref) bool { return v.at(r).state == inView }

// set replaces the entry of a node.
func (v *view) set(r wire.Ref, e entry) {
	old := v.at(r)
	if old == e {
		return
	}
	v.count(r, old, -1)
	v.count(r, e, 1)
	v.writable(int(r / pageSize)).entries[r%pageSize] = e
}

func (v *view) count(r wire.Ref, e entry, n int) {
	switch e.state {
	case inView:
		v.members += n
		v.bytes += n * v.table.ids[r].id.CanonicalSize()
		v.hash ^= mix(v.table.ids[r].short, e.inc)
	case inHistory:
		v.gone += n
	}
}

// mix hashes two numbers.
func mix(a, b uint64) uint64 {
	x := a ^ b*0x9E3779B97F4A7C15
	x = (x ^ x>>32) * 0xD6E8FEB86659FD93
	x = (x ^ x>>32) * 0xD6E8FEB86659FD93
	return x ^ x>>32
}

// writable returns a page that no other view uses; it copies a frozen one.
func (v *view) writable(i int) *page {
	for len(v.pages) <= i {
		v.pages = append(v.pages, nil)
	}
	p := v.pages[i]
	switch {
	case p == nil:
		v.pages[i] = new(page)
	case p.frozen:
		v.pages[i] = &page{entries: p.entries}
	}
	return v.pages[i]
}

// share replaces this view's pages by equal pages of other machines with the same table.
func (v *view) share() {
	t := v.table
	for len(t.canon) < len(v.pages) {
		t.canon = append(t.canon, nil)
	}
	for i, p := range v.pages {
		switch c := t.canon[i]; {
		case p == nil || p == c:
		case c != nil && c.entries == p.entries:
			v.pages[i] = c
		default:
			p.frozen = true
			t.canon[i] = p
		}
	}
}

// snapshot is a view with its history at one instant. It does not change.
type snapshot struct {
	pages          []*page
	members, bytes int
	gone           int
}

// snapshot returns the present view. It copies one pointer for each 64 nodes.
func (v *view) snapshot() *snapshot {
	s := &snapshot{pages: append([]*page(nil), v.pages...), members: v.members, bytes: v.bytes, gone: v.gone}
	for _, p := range s.pages {
		if p != nil && !p.frozen {
			p.frozen = true
		}
	}
	return s
}

// adopt replaces this view's pages by equal ones of a snapshot, after the snapshot was
// processed.
func (v *view) adopt(s *snapshot) {
	for i, p := range s.pages {
		if own := v.pageAt(i); p != nil && own != nil && p != own && p.entries == own.entries {
			v.pages[i] = p
		}
	}
}

func (v *view) pageAt(i int) *page {
	if i < len(v.pages) {
		return v.pages[i]
	}
	return nil
}

// Each calls f for all members or, if gone is true, for all nodes in the history instead.
func (s *snapshot) Each(gone bool, f func(wire.Ref, wire.Version)) {
	st := inView
	if gone {
		st = inHistory
	}
	for i, p := range s.pages {
		if p == nil {
			continue
		}
		for j := range p.entries {
			if en := &p.entries[j]; en.state == st {
				f(wire.Ref(i*pageSize+j), en.version())
			}
		}
	}
}

// Size returns the number of members, the bytes of their ids, and how many nodes are in
// the history.
func (s *snapshot) Size() (members, bytes, gone int) { return s.members, s.bytes, s.gone }
