package engine

import (
	"bytes"
	"cmp"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"slices"

	"ulnet/gossip/zone/wire"
)

// Why an id cannot be added to a table.
var (
	errTableFull = errors.New("zone: more nodes are known than fit the table")
	errCollision = errors.New("zone: two ids with the same short form")
)

// Table keeps every id once, so that views need only numbers. Machines of one zone in one
// process, as in a simulation, may share a table if one goroutine steps them all. A machine
// that has a table to itself forgets ids that it does not need any more.
type Table struct {
	ids     []known // known nodes by Ref; element 0 stands for no node
	byShort map[uint64]wire.Ref
	byName  map[string]wire.Ref // for each name, one of the ids that have it; twin leads to the others
	ring    []wire.Ref          // nodes whose id is known, in the order of the ring (MS-24)
	ballot  []wire.Ref          // the nodes of the table, in the order in which they become delegates (MS-A24)
	zone    string
	free    []wire.Ref
	limit   int
	canon   []*page // the latest frozen page of each index, to be shared by views
}

// known is what a table has of a node. Of some nodes only the short form of the id is known.
type known struct {
	id    wire.ID
	pos   wire.Position
	short uint64
	vote  uint64   // the beginning of SHA-1(id ‖ zone)
	twin  wire.Ref // the next id that has the same name, in a ring of all that have it
}

// NewTable returns a table for at most limit ids.
func NewTable(limit int) *Table {
	return &Table{ids: make([]known, 1), byShort: make(map[uint64]wire.Ref), byName: make(map[string]wire.Ref), limit: limit}
}

// Len returns how many nodes are known.
func (t *Table) Len() int { return len(t.ids) - 1 - len(t.free) }

// ID returns a node's id, or the invalid one if only its short form is known.
func (t *Table) ID(r wire.Ref) wire.ID {
	if int(r) >= len(t.ids) {
		return wire.ID{}
	}
	return t.ids[r].id
}

// Short returns the short form of a node's id, 0 for Ref 0.
func (t *Table) Short(r wire.Ref) uint64 { return t.ids[r].short }

// Find returns the Ref of the node with a short form; 0 if the node is not known.
func (t *Table) Find(short uint64) wire.Ref { return t.byShort[short] }

// Lookup returns the Ref of a node; 0 if the node is not known.
func (t *Table) Lookup(id wire.ID) wire.Ref {
	r := t.byShort[id.Short()]
	if t.ids[r].id != id {
		return 0
	}
	return r
}

// Add returns the Ref of a node, and adds the node if it is not known. The error is
// [errTableFull] or [errCollision].
func (t *Table) Add(id wire.ID) (wire.Ref, error) {
	r, err := t.AddShort(id.Short())
	if err != nil {
		return 0, err
	}
	k := &t.ids[r]
	switch {
	case k.id == id:
		return r, nil
	case k.id.IsValid():
		return 0, errCollision
	}
	k.id, k.pos, k.vote = id, id.Position(), vote(id, t.zone)
	t.addName(r)
	at, _ := slices.BinarySearchFunc(t.ring, r, t.compare)
	t.ring = slices.Insert(t.ring, at, r)
	at, _ = slices.BinarySearchFunc(t.ballot, r, t.compareVotes)
	t.ballot = slices.Insert(t.ballot, at, r)
	return r, nil
}

// addName adds an id to the ring of ids that have the same name.
func (t *Table) addName(r wire.Ref) {
	k := &t.ids[r]
	first := t.byName[k.id.Name()]
	if first == 0 {
		t.byName[k.id.Name()], k.twin = r, r
		return
	}
	k.twin, t.ids[first].twin = t.ids[first].twin, r
}

// vote returns the hash that decides which members are delegates of their zone.
func vote(id wire.ID, zone string) uint64 {
	sum := sha1.Sum(append(id.AppendCanonical(nil), zone...))
	return binary.BigEndian.Uint64(sum[:])
}

func (t *Table) compareVotes(a, b wire.Ref) int {
	if c := cmp.Compare(t.ids[a].vote, t.ids[b].vote); c != 0 {
		return c
	}
	return t.compare(a, b)
}

// use sets the zone of the table, before any node is added. The error says that the table
// belongs to another zone already.
func (t *Table) use(zone string) error {
	if t.zone == zone {
		return nil
	}
	if t.zone != "" {
		return wrong("the table of ids is that of zone %q", t.zone)
	}
	t.zone = zone
	ids := t.ballot
	t.ballot = nil
	for _, r := range ids {
		t.ids[r].vote = vote(t.ids[r].id, zone)
		at, _ := slices.BinarySearchFunc(t.ballot, r, t.compareVotes)
		t.ballot = slices.Insert(t.ballot, at, r)
	}
	return nil
}

// AddShort returns the Ref of the node with a short form, and adds the node if it is not known.
// The error is [errTableFull].
func (t *Table) AddShort(short uint64) (wire.Ref, error) {
	if r, ok := t.byShort[short]; ok {
		return r, nil
	}
	if t.Len() >= t.limit {
		return 0, errTableFull
	}
	var r wire.Ref
	if n := len(t.free); n > 0 {
		r, t.free = t.free[n-1], t.free[:n-1]
		t.ids[r] = known{short: short}
	} else {
		r = wire.Ref(len(t.ids))
		t.ids = append(t.ids, known{short: short})
	}
	t.byShort[short] = r
	return r, nil
}

// compare orders nodes by position on the ring, then by the bytes of the id (MS-A25).
func (t *Table) compare(a, b wire.Ref) int {
	x, y := &t.ids[a], &t.ids[b]
	if c := bytes.Compare(x.pos[:], y.pos[:]); c != 0 {
		return c
	}
	return x.id.Compare(y.id)
}

// rank returns the index of a node in the order of the ring.
func (t *Table) rank(r wire.Ref) int {
	at, _ := slices.BinarySearchFunc(t.ring, r, t.compare)
	return at
}

// forget removes all nodes except those in keep.
func (t *Table) forget(keep bitmap) {
	t.ring = slices.DeleteFunc(t.ring, func(r wire.Ref) bool { return !keep.has(r) })
	t.ballot = slices.DeleteFunc(t.ballot, func(r wire.Ref) bool { return !keep.has(r) })
	for r := wire.Ref(1); int(r) < len(t.ids); r++ {
		if k := &t.ids[r]; !keep.has(r) && k.short != 0 {
			delete(t.byShort, k.short)
			*k = known{}
			t.free = append(t.free, r)
		}
	}
	clear(t.byName)
	for _, r := range t.ring {
		t.addName(r)
	}
}

// bitmap is a set of nodes.
type bitmap []uint64

func (b bitmap) has(r wire.Ref) bool { return int(r>>6) < len(b) && b[r>>6]>>(r&63)&1 != 0 }

// set adds a node and reports whether it was not in the set.
func (b *bitmap) set(r wire.Ref) bool {
	for int(r>>6) >= len(*b) {
		*b = append(*b, 0)
	}
	word, bit := &(*b)[r>>6], uint64(1)<<(r&63)
	was := *word & bit
	*word |= bit
	return was == 0
}

func (b bitmap) unset(r wire.Ref) {
	if int(r>>6) < len(b) {
		b[r>>6] &^= 1 << (r & 63)
	}
}
