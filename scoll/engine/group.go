package engine

import (
	"time"

	"ulnet/lnet/nid"
	"ulnet/scoll/tree"
	"ulnet/scoll/wire"
)

// groupKey is the key of a group in the table. The key of an out-of-band group has no digest,
// because the digest changes with the membership.
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

// group is the state of a group at a node.
type group struct {
	key      groupKey
	members  *wire.Membership
	tree     wire.Tree
	index    int           // index of the group in table.list
	rank     int           // rank of this node among members, or -1
	creator  bool          // this node created it
	stranger bool          // a member of the group is a stranger, see shares.go
	parent   nid.NID       // the node whose request brought the group
	creating bool          // the group is being created
	complete bool          // all members know the group, as far as this node knows
	last     bool          // the group ends with the last request under way
	orphaned bool          // the creator has died: the group leaves the table after the requests under way
	inFlight int           // number of the group's requests under way
	bytes    uint64        // size of the list, while the group is in the table
	used     time.Duration // when the latest request of another node arrived
	sequence uint64        // sequence number of this node's latest broadcast
	busy     []uint64      // sequence numbers of this node's broadcasts under way, ascending
	waiting  []*request    // this node's broadcasts that were not sent yet, in order
	pace     pace
	roots    []rootState
	runs     []run // broadcasts to the live members that have run here, the oldest first
	layout   layout
	live     liveSet
	lru      lruState // state of the group in the cache
}

// isOOB reports whether a group is an out-of-band one.
func (g *group) isOOB() bool { return !g.key.id.Creator.IsValid() }

// layout caches this node's parent and children in a tree (SC-155).
type layout struct {
	roster   *wire.Membership
	tree     wire.Tree
	root     int
	rank     int
	parent   int
	depth    int
	children []tree.Child
}

// spread returns the layout, parent and children, of the node with a rank in the tree of a
// roster.
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

// shape returns the tree of a request.
func (r *request) shape() tree.Tree {
	topology, _ := r.header.Tree.Topology()
	return tree.Tree{Topology: topology, N: r.roster.Len(), Root: int(r.header.Root)}
}

// table has the groups of a node, tombstones of groups that have ended, and ghosts of groups
// that have left the table and may come back.
type table struct {
	groups     map[groupKey]*group
	list       []*group
	cache      cache
	lists      lists
	shares     *shares
	next       uint64 // GroupID.Index of the next group that this node creates
	tombstones graveyard
	ghosts     graveyard
	// sequence is the highest sequence of this node's broadcasts over groups that left the
	// table. A group that comes back continues from there: members may remember it, and
	// would take lower sequences for replays.
	sequence uint64
}

func (t *table) init(s *shares) {
	t.shares, t.groups, t.lists = s, make(map[groupKey]*group), make(lists)
	t.tombstones.init()
	t.ghosts.init()
	t.cache.init()
}

// fresh returns a group that is not in the table yet. If the group has a ghost, it gets the
// roots and runs of the ghost.
func (t *table) fresh(key groupKey, members *wire.Membership) *group {
	g := &group{key: key, index: -1, members: members}
	if ghost := t.ghosts.of[key]; ghost != nil {
		g.roots, g.runs = ghost.roots, ghost.runs
	}
	return g
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

// remove removes a group from the table. Requests under way keep the data that they need.
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

// bury ends a group and leaves a tombstone (SC-A12).
func (t *table) bury(g *group, until time.Duration) {
	if g.index >= 0 {
		t.remove(g)
		t.tombstones.add(g, tombstone{}, until)
	}
}

// displace takes a group out of the table and leaves a ghost, which remembers for a while which
// requests have run over it. The group comes back when it is used.
func (t *table) displace(g *group, until time.Duration) {
	if g.index >= 0 {
		t.remove(g)
		t.ghosts.add(g, tombstone{roots: latest(g.roots), runs: latestRuns(g.runs)}, until)
	}
}

// forget removes tombstones and ghosts that have expired.
func (t *table) forget(now time.Duration) {
	t.tombstones.forget(now)
	t.ghosts.forget(now)
}

func (t *table) wake() time.Duration { return min(t.tombstones.wake(), t.ghosts.wake()) }

// release ends a request's use of a group. After its last request an out-of-band group leaves a
// ghost, not a tombstone, because its service may use it again at once.
func (m *Machine) release(g *group, last bool) {
	g.inFlight--
	m.table.touch(g)
	if last && g.isOOB() {
		if g.inFlight == 0 {
			m.table.displace(g, m.now+2*m.cfg.MaxTimeout)
		}
		return
	}
	g.last = g.last || last
	switch {
	case g.inFlight > 0:
	case g.last:
		m.table.bury(g, m.now+2*m.cfg.MaxTimeout)
	case g.orphaned:
		m.table.displace(g, m.now+2*m.cfg.MaxTimeout)
	}
}
