package scoll

import (
	"slices"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/scoll/tree"
)

// groupKey finds a group: out-of-band ones without the digest, which changes
// with the membership.
type groupKey struct {
	id      GroupID
	service ServiceID
}

func keyOf(id GroupID, service ServiceID) groupKey {
	if !id.Creator.IsValid() {
		id.Digest = Digest{}
	}
	return groupKey{id, service}
}

// group is what a node knows of a group.
type group struct {
	key      groupKey
	members  *Membership
	tree     Tree
	index    int           // in table.list
	rank     int           // ours among members, or -1
	creator  bool          // we made it
	stranger bool          // a member is one, see shares.go
	parent   nid.NID       // whose request brought it
	creating bool          // the creation is under way
	complete bool          // all members know it, as far as we know
	last     bool          // it goes with the last request
	inFlight int           // requests
	bytes    uint64        // of the list, while it is in the table
	used     time.Duration // when the latest request of others came
	sequence uint64        // of our latest broadcast
	busy     []uint64      // of our broadcasts that are under way, ascending
	waiting  []*request    // those that are not, yet, in order
	pace     pace
	roots    []rootState
	layout   layout
	live     liveSet
}

// layout keeps the children of this node in a tree (SC-155).
type layout struct {
	roster   *Membership
	tree     Tree
	root     int
	rank     int
	parent   int
	depth    int
	children []tree.Child
}

// spread returns our place in the tree of a roster with a root.
func (g *group) spread(roster *Membership, t Tree, root, rank int) *layout {
	l := &g.layout
	if l.roster == roster && l.tree == t && l.root == root && l.rank == rank {
		return l
	}
	topology, _ := t.Topology()
	shape := tree.Tree{Topology: topology, N: roster.Len(), Root: root}
	parent, ok := shape.Parent(rank)
	if !ok {
		parent = -1
	}
	*l = layout{roster, t, root, rank, parent, shape.Depth(rank) + 1, shape.AppendChildren(l.children[:0], rank)}
	return l
}

// shape is the tree of a request.
func (r *request) shape() tree.Tree {
	topology, _ := r.header.Tree.Topology()
	return tree.Tree{Topology: topology, N: r.roster.Len(), Root: int(r.header.Root)}
}

// table is the groups of a node, and tombstones of those that are gone.
type table struct {
	groups map[groupKey]*group
	list   []*group
	others int // of them not made here
	shares *shares
	next   uint64 // index of the next group
	graves map[groupKey]bool
	buried []grave // the oldest first
	// sequence is the highest number of a broadcast of ours over a group that is
	// gone. One that comes back goes on from there: others may not have forgotten
	// it, and would take lower numbers for replays.
	sequence uint64
}

type grave struct {
	key      groupKey
	at       time.Duration // when it is forgotten
	stranger bool          // the group was one of strangers
}

func (t *table) init(s *shares) {
	t.shares = s
	t.groups, t.graves = make(map[groupKey]*group), make(map[groupKey]bool)
}

func (t *table) add(g *group) {
	g.index, g.sequence = len(t.list), max(g.sequence, t.sequence)
	t.groups[g.key] = g
	t.list = append(t.list, g)
	if !g.creator {
		t.others++
		g.bytes = g.size()
		t.shares.charge(g.parent, g.stranger, share{groups: 1, bytes: g.bytes}, 1)
	}
}

// remove ends a group. Requests that are under way keep what they need.
func (t *table) remove(g *group) {
	if g.index < 0 {
		return
	}
	delete(t.groups, g.key)
	t.sequence = max(t.sequence, g.sequence)
	last := len(t.list) - 1
	t.list[g.index] = t.list[last]
	t.list[g.index].index = g.index
	t.list[last] = nil
	t.list = t.list[:last]
	g.index = -1
	if !g.creator {
		t.others--
		t.shares.charge(g.parent, g.stranger, share{groups: 1, bytes: g.bytes}, -1)
	}
}

// bury ends a group and remembers that it is gone (SC-A12).
func (t *table) bury(g *group, until time.Duration) {
	if g.index < 0 {
		return
	}
	t.remove(g)
	t.roomForGrave(g.stranger)
	t.graves[g.key] = true
	t.buried = append(t.buried, grave{g.key, until, g.stranger})
}

// roomForGrave forgets the oldest tombstone if there are too many. Those of strangers'
// groups are a quarter of all: one of these goes for another.
func (t *table) roomForGrave(stranger bool) {
	first, count := 0, 0
	for i := range t.buried {
		if t.buried[i].stranger {
			if count++; count == 1 {
				first = i
			}
		}
	}
	if !stranger || count < maxTombstones/4 {
		if first = 0; len(t.buried) < maxTombstones {
			return
		}
	}
	delete(t.graves, t.buried[first].key)
	t.buried = slices.Delete(t.buried, first, first+1)
}

// forget ends tombstones whose time is over.
func (t *table) forget(now time.Duration) {
	for len(t.buried) > 0 && t.buried[0].at <= now {
		delete(t.graves, t.buried[0].key)
		t.buried = t.buried[1:]
	}
}

func (t *table) wake() time.Duration {
	if len(t.buried) == 0 {
		return machine.Never
	}
	return t.buried[0].at
}

// release notes that a request over a group is over. An out-of-band group is its
// service's and may be used again at once: what is known of it is forgotten, if
// nobody else uses it, and it leaves no tombstone.
func (m *Machine) release(g *group, last bool) {
	g.inFlight--
	if last && !g.key.id.Creator.IsValid() {
		if g.inFlight == 0 {
			m.table.remove(g)
		}
		return
	}
	g.last = g.last || last
	if g.last && g.inFlight == 0 && g.index >= 0 {
		m.table.bury(g, m.now+2*m.cfg.MaxTimeout)
	}
}
