package portals

import (
	"sync"

	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// Portals is the number of portals of a table (MAX_PORTALS).
const Portals = 64

// Table is a node's portal table and its memory descriptors.
type Table struct {
	node       *lnet.Node
	mds        slab[md]
	operations sync.Pool
	portals    [Portals]portal
}

// New makes the portal table of a node and installs it as the node's upper
// layer. A node has one.
func New(node *lnet.Node) *Table {
	t := &Table{node: node}
	t.operations.New = func() any {
		o := new(operation)
		o.Init()
		o.Upper = o
		return o
	}
	node.SetUpper((*upper)(t))
	return t
}

// Node is the node whose table this is.
func (t *Table) Node() *lnet.Node { return t.node }

func (t *Table) portal(index int) *portal {
	if index < 0 || index >= Portals {
		return nil
	}
	return &t.portals[index]
}

// portalKind is fixed by the first ME of a portal (ptl_type).
type portalKind uint8

const (
	unset portalKind = iota
	unique
	wildcard
)

// matchKey is what the MEs without ignore bits are found by: the match bits,
// and on a unique portal the initiator as well.
type matchKey struct {
	bits uint64
	id   nid.ProcessID
}

// portal is one entry of the table (struct lnet_portal).
type portal struct {
	mu       sync.Mutex
	kind     portalKind       // guarded by mu, like all below
	lazy     bool             // keeps PUTs that nothing matches
	mes      slab[me]         // this portal's entries
	ignoring *me              // ring of the MEs with ignore bits, first to try
	exact    map[matchKey]*me // rings of the others
	held     operationList    // PUTs on a lazy portal that wait for an MD
}

func (p *portal) key(m *Match) matchKey {
	if p.kind == unique {
		return matchKey{m.Bits, m.ID}
	}
	return matchKey{bits: m.Bits}
}

// insert puts e on its list. LNet hashes the MEs without ignore bits by the
// low match bits; only those with equal bits can compete for a message, so a
// list per value keeps its order of trial.
func (p *portal) insert(e *me, pos InsertPosition) {
	if e.match.Ignore != 0 {
		p.ignoring = insertRing(p.ignoring, e, pos)
		return
	}
	if p.exact == nil {
		p.exact = make(map[matchKey]*me)
	}
	k := p.key(&e.match)
	old := p.exact[k]
	if head := insertRing(old, e, pos); head != old {
		p.exact[k] = head
	}
}

func (p *portal) remove(e *me) {
	if e.match.Ignore != 0 {
		p.ignoring = removeRing(p.ignoring, e)
		return
	}
	k := p.key(&e.match)
	old := p.exact[k]
	switch head := removeRing(old, e); head {
	case old:
	case nil:
		delete(p.exact, k)
	default:
		p.exact[k] = head
	}
}

// insertRing adds e at the head (Before) or the tail of a ring and returns
// the ring's head.
func insertRing(head, e *me, pos InsertPosition) *me {
	if head == nil {
		e.next, e.prev = e, e
		return e
	}
	e.next, e.prev = head, head.prev
	e.prev.next, head.prev = e, e
	if pos == Before {
		return e
	}
	return head
}

func removeRing(head, e *me) *me {
	if e.next == e {
		e.next, e.prev = nil, nil
		return nil
	}
	e.prev.next, e.next.prev = e.next, e.prev
	if head == e {
		head = e.next
	}
	e.next, e.prev = nil, nil
	return head
}

// request is an incoming PUT or GET, as matching sees it.
type request struct {
	op     MDOption // OpPut or OpGet
	id     nid.ProcessID
	bits   uint64
	length uint32
	offset uint32 // asked for; counts with ManageRemote
}

// outcome of matching.
type outcome uint8

const (
	noMatch  outcome = iota
	matched          // the md is returned locked, with the operation begun
	tooLong          // the first ME that fits has too little room: drop
	mismatch         // of a single ME: try the next
)

// match finds the ME that takes r (lnet_ptl_match_md): MEs with ignore bits
// first, then the exact ones, each list in its order. The caller holds p.mu.
func (t *Table) match(p *portal, r *request) (d *md, offset, mlength int, o outcome) {
	if d, offset, mlength, o = t.matchRing(p, p.ignoring, r); o != noMatch {
		return d, offset, mlength, o
	}
	if p.exact == nil {
		return nil, 0, 0, noMatch
	}
	k := matchKey{bits: r.bits}
	if p.kind == unique {
		k.id = r.id
	}
	return t.matchRing(p, p.exact[k], r)
}

func (t *Table) matchRing(p *portal, head *me, r *request) (d *md, offset, mlength int, o outcome) {
	for e := head; e != nil; {
		if d, offset, mlength, o = t.try(p, e, r); o != mismatch {
			return d, offset, mlength, o
		}
		if e = e.next; e == head {
			break
		}
	}
	return nil, 0, 0, noMatch
}

// try tests one ME and, if it takes r, begins the operation on its MD
// (lnet_try_match_md). The caller holds p.mu.
func (t *Table) try(p *portal, e *me, r *request) (d *md, offset, mlength int, o outcome) {
	if e.md == nil || !e.match.admits(r.id, r.bits) {
		return nil, 0, 0, mismatch
	}
	d = e.md
	d.mu.Lock()
	if d.exhausted() || d.conf.Options&r.op == 0 {
		d.mu.Unlock()
		return nil, 0, 0, mismatch
	}
	offset, mlength, fits := d.place(r)
	if !fits {
		d.mu.Unlock()
		return nil, 0, 0, tooLong
	}
	d.begin()
	d.offset = offset + mlength
	if d.auto && d.exhausted() {
		p.detach(d)
	}
	return d, offset, mlength, matched
}

// place decides where in the MD r goes and how much of it. A GET may ask for
// more than a REPLY can carry.
func (d *md) place(r *request) (offset, mlength int, fits bool) {
	offset = d.offset
	if d.conf.Options&ManageRemote != 0 {
		offset = int(min(uint64(r.offset), uint64(d.length))) // no room beyond the end
	}
	room := min(d.length-offset, wire.MaxPayload)
	if d.conf.Options&HasMaxSize != 0 {
		room = min(room, d.conf.MaxSize)
	}
	if uint64(r.length) <= uint64(room) {
		return offset, int(r.length), true
	}
	return offset, room, d.conf.Options&Truncate != 0
}

// detach makes an attached MD a zombie: its handle dies, its ME loses it and
// goes away too if it was made so. The caller holds p.mu and d.mu.
func (p *portal) detach(d *md) {
	e := d.me
	d.handle, d.zombie, d.me = 0, true, nil
	e.md = nil
	if e.unlink == Unlink {
		p.freeME(e)
	}
}
