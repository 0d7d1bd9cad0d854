package engine

import (
	"time"

	"ulnet/lnet/nid"
	"ulnet/scoll/tree"
	"ulnet/scoll/wire"
)

// groupKey finds a group: out-of-band ones without the digest, which changes
// with the membership.
type groupKey struct {
	id      wire.GroupID
	service wire.ServiceID
}

func keyOf(id wire.GroupID, service wire.ServiceID) groupKey {
	if !id.Creator.IsValid() {
		id.Digest = wire.Digest{}
	}
	return groupKey{id, service}
}

// group is what a node knows of a group.
type group struct {
	key      groupKey
	members  *wire.Membership
	tree     wire.Tree
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
	lru      lruState // in the cache
}

// isOOB reports whether a group is an out-of-band one.
func (g *group) isOOB() bool { return !g.key.id.Creator.IsValid() }

// layout keeps the children of this node in a tree (SC-155).
type layout struct {
	roster   *wire.Membership
	tree     wire.Tree
	root     int
	rank     int
	parent   int
	depth    int
	children []tree.Child
}

// spread returns our place in the tree of a roster with a root.
func (g *group) spread(roster *wire.Membership, t wire.Tree, root, rank int) *layout {
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

// table is the groups of a node, tombstones of those that have ended, and ghosts of
// those that made room for others.
type table struct {
	groups     map[groupKey]*group
	list       []*group
	cache      cache
	lists      lists
	shares     *shares
	next       uint64 // index of the next group
	tombstones graveyard
	ghosts     graveyard
	// sequence is the highest number of a broadcast of ours over a group that is
	// gone. One that comes back goes on from there: others may not have forgotten
	// it, and would take lower numbers for replays.
	sequence uint64
}

func (t *table) init(s *shares) {
	t.shares, t.groups, t.lists = s, make(map[groupKey]*group), make(lists)
	t.tombstones.init()
	t.ghosts.init()
	t.cache.init()
}

// fresh returns a group that is not in the table, with what a ghost knows of it.
func (t *table) fresh(key groupKey, members *wire.Membership) *group {
	return &group{key: key, index: -1, members: members, roots: t.ghosts.roots(key)}
}

func (t *table) add(g *group) {
	g.index, g.sequence = len(t.list), max(g.sequence, t.sequence)
	t.groups[g.key] = g
	t.list = append(t.list, g)
	t.ghosts.remove(g.key)
	t.lists.add(g)
	if !g.creator {
		t.charge(g, 1)
	}
	t.touch(g)
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
	t.lists.release(g)
	if !g.creator {
		t.charge(g, -1)
	}
}

// bury ends a group and remembers that it is gone (SC-A12).
func (t *table) bury(g *group, until time.Duration) {
	if g.index >= 0 {
		t.remove(g)
		t.tombstones.add(g, nil, until)
	}
}

// displace takes a group out of the table, and remembers for a while which requests
// have been run over it: the group itself comes back when it is used.
func (t *table) displace(g *group, until time.Duration) {
	if g.index >= 0 {
		t.remove(g)
		t.ghosts.add(g, latest(g.roots), until)
	}
}

// forget ends tombstones and ghosts whose time is over.
func (t *table) forget(now time.Duration) {
	t.tombstones.forget(now)
	t.ghosts.forget(now)
}

func (t *table) wake() time.Duration { return min(t.tombstones.wake(), t.ghosts.wake()) }

// release notes that a request over a group is over. An out-of-band group is its
// service's and may be used again at once: what is known of it is forgotten, if
// nobody else uses it, and it leaves no tombstone.
func (m *Machine) release(g *group, last bool) {
	g.inFlight--
	m.table.touch(g)
	if last && g.isOOB() {
		if g.inFlight == 0 {
			m.table.remove(g)
		}
		return
	}
	g.last = g.last || last
	if g.last && g.inFlight == 0 {
		m.table.bury(g, m.now+2*m.cfg.MaxTimeout)
	}
}
