package engine

import (
	"time"

	"ulnet/lnet/machine"
	"ulnet/scoll/rmcast/wire"
	"ulnet/scoll/tree"
)

// childSlot is the state of one datagram at a child. Times are kept in the slot of a message's
// first datagram.
type childSlot struct {
	dueAt    time.Duration // when to poll the child, or to resend; 0: not delivered at this node
	sentAt   time.Duration // when the datagram was last resent to the child
	polledAt time.Duration
	tries    uint8
	acked    bool
	pending  bool // the child has the datagram, and waits for members below it
	wants    bool // the child requested the datagram, and this node lacks it
}

// child is a child in a stream's tree. Children of failed children are adopted (RM-A8).
type child struct {
	rank  int
	depth int // number of levels of the child's subtree; 1 for a leaf
	slots []childSlot
	due   time.Duration // lower bound of dueAt of all slots
	low   uint64        // the child has acknowledged everything from stable up to this number
	waits uint32        // communication number of the member that the child waits for, 0 if unknown
}

func newChild(rank, depth, window int) *child {
	return &child{rank: rank, depth: depth, slots: make([]childSlot, window), due: machine.Never}
}

func (k *child) slot(seq uint64) *childSlot { return &k.slots[seq%uint64(len(k.slots))] }

// child returns the child at a rank, or nil.
func (s *stream) child(rank int) *child { return find(s.children, rank) }

// rewire recomputes parent and children. The parent is the nearest ancestor that has not
// failed; a failed child is replaced by its own children (RM-A8).
func (s *stream) rewire() {
	shape, before, parent := s.roster.shape(s.root), s.children, s.parent
	s.children = nil
	var few [32]tree.Child
	for _, c := range shape.AppendChildren(few[:0], s.roster.self) {
		s.adopt(shape, c, before, nil)
	}
	s.parent = -1
	for rank := s.roster.self; rank != s.root; {
		rank, _ = shape.Parent(rank)
		s.parent = rank
		if !s.roster.peers[rank].dead || rank == s.root {
			break
		}
	}
	if before != nil || parent != s.parent {
		s.rewired(parent)
	}
}

// adopt makes c a child of this node or, if c has failed, the children of c. What a failed child has
// acknowledged counts as acknowledged by its children, because all members below it have that.
func (s *stream) adopt(shape tree.Tree, c tree.Child, before []*child, heir *child) {
	if s.roster.peers[c.Rank].dead {
		if k := find(before, c.Rank); k != nil {
			heir = k
		}
		var few [32]tree.Child
		for _, below := range shape.AppendChildren(few[:0], c.Rank) {
			s.adopt(shape, below, before, heir)
		}
		return
	}
	k := find(before, c.Rank)
	if k == nil {
		k = newChild(c.Rank, c.Depth, len(s.slots))
		if heir != nil {
			s.inherit(k, heir)
		}
	}
	s.children = append(s.children, k)
}

func find(children []*child, rank int) *child {
	for _, k := range children {
		if k.rank == rank {
			return k
		}
	}
	return nil
}

// inherit records that k has acknowledged all that its failed ancestor heir has acknowledged,
// and polls k about the rest.
func (s *stream) inherit(k, heir *child) {
	s.m.stats.Takeovers++
	for i := range heir.slots {
		k.slots[i].acked = k.slots[i].acked || heir.slots[i].acked
	}
	for seq, f := range s.delivered() {
		if !s.childHas(k, seq, f.count) {
			s.watch(k, seq)
			s.poll(k.rank, span{seq, seq + uint64(f.count)}, wire.FlagAtOnce)
		}
	}
}

// rewired acts on a change of the parent or the children.
func (s *stream) rewired(before int) {
	moved := !s.isRoot() && s.parent != before
	for seq := s.stable; seq < s.head; {
		f := s.slot(seq)
		if !f.delivered {
			if f.askAt != 0 { // request the missing datagram again: the member that got the last request may have failed
				f.askAt = s.m.now + s.m.grace()
				s.askAt = min(s.askAt, f.askAt)
			}
			seq++
			continue
		}
		count := uint64(f.count)
		switch {
		case !f.complete:
			f.told = f.told && !moved
			s.check(seq) // do not use the slot below: check may free it
		case moved: // the previous parent may not have passed the acknowledgement on
			s.acknowledge(seq, f)
		}
		seq += count
	}
	s.wantAt(s.askAt)
}

// watch starts the timeout for a child's acknowledgement.
func (s *stream) watch(k *child, seq uint64) {
	k.slot(seq).dueAt = s.m.now + s.m.patience(k.depth, 0)
	k.due = min(k.due, k.slot(seq).dueAt)
	s.wantAt(k.due)
}
