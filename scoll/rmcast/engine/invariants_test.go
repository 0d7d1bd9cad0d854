package engine

import (
	"fmt"
	"slices"
)

// invariants returns an error if an invariant of the machine does not hold.
func (m *Machine) invariants() error {
	for _, s := range m.streams {
		if s.roster == nil {
			continue
		}
		if err := s.invariants(); err != nil {
			return fmt.Errorf("stream of %v in %v: %w", s.origin.id, s.roster.version, err)
		}
	}
	bytes := 0
	for _, h := range m.held {
		bytes += len(h.data)
	}
	if bytes != m.heldN || len(m.held) > maxHeld {
		return fmt.Errorf("%d messages of %d bytes are held, not %d", len(m.held), bytes, m.heldN)
	}
	if p := &m.sender; p.stream != nil && (p.sent < p.stream.stable || p.sent > p.stream.head || p.limit < 1) {
		return fmt.Errorf("sent %d of [%d, %d), limit %d", p.sent, p.stream.stable, p.stream.head, p.limit)
	}
	return nil
}

func (s *stream) invariants() error {
	window := uint64(len(s.slots))
	if s.stable > s.next || s.next > s.head || s.head-s.stable > window {
		return fmt.Errorf("stable %d, next %d, head %d, window %d", s.stable, s.next, s.head, window)
	}
	seen := 0
	for seq := s.stable; seq < s.stable+window; seq++ {
		sl := s.slot(seq)
		if sl.have {
			seen++
		}
		if sl.have && seq >= s.head {
			return fmt.Errorf("%d is here, head %d", seq, s.head)
		}
		if sl.count == 0 {
			continue
		}
		if err := s.messageInvariants(seq, sl); err != nil {
			return err
		}
		seen -= int(sl.here)
	}
	if seen != 0 {
		return fmt.Errorf("%d datagrams are of no message", seen)
	}
	return s.treeInvariants()
}

func (s *stream) messageInvariants(first uint64, f *slot) error {
	here := uint16(0)
	for i := range uint64(f.count) {
		if !s.inWindow(first + i) {
			continue
		}
		if sl := s.slot(first + i); sl.have && uint64(sl.index) == i {
			here++
		}
	}
	if here != f.here {
		return fmt.Errorf("message %d has %d fragments, not %d", first, here, f.here)
	}
	if f.delivered && f.here != f.count || f.complete && !f.delivered {
		return fmt.Errorf("message %d: %+v", first, *f)
	}
	if !f.delivered && first < s.next {
		return fmt.Errorf("message %d is not delivered, next %d", first, s.next)
	}
	all := true
	for _, k := range s.children {
		has := s.childHas(k, first, f.count)
		all = all && has
		if ks := k.slot(first); f.delivered && !has && (ks.dueAt == 0 || k.due > ks.dueAt || s.due > k.due) {
			return fmt.Errorf("message %d: nobody waits for rank %d: due at %v, child %v, stream %v", first, k.rank, ks.dueAt, k.due, s.due)
		}
	}
	if f.delivered && all != f.complete {
		return fmt.Errorf("message %d: all below have it: %v, %+v", first, all, *f)
	}
	return nil
}

func (s *stream) treeInvariants() error {
	if (s.root == s.roster.self) != s.isRoot() {
		return fmt.Errorf("parent %d", s.parent)
	}
	if p := s.parent; p >= 0 && p != s.root && s.roster.peers[p].dead {
		return fmt.Errorf("the parent has failed")
	}
	for _, k := range s.children {
		if s.roster.peers[k.rank].dead || !s.below(k.rank) {
			return fmt.Errorf("rank %d is no child", k.rank)
		}
	}
	for seq := s.next; seq < s.head; seq++ {
		if sl := s.slot(seq); !sl.have && !s.isRoot() && (sl.askAt == 0 || s.askAt > sl.askAt || s.due > s.askAt) {
			return fmt.Errorf("%d is lacking, and nobody asks: %v, %v, %v", seq, sl.askAt, s.askAt, s.due)
		}
	}
	return nil
}

// below reports whether a rank is this node's, or that of a node below it in the stream's tree.
func (s *stream) below(rank int) bool {
	shape := s.roster.shape(s.root)
	for rank != s.roster.self {
		parent, ok := shape.Parent(rank)
		if !ok {
			return false
		}
		rank = parent
	}
	return true
}

// votersNamed returns an error unless each voter is a member or named as silent. The next manager takes for voters as many
// of the silent ones as the list counts and does not name as members.
func (g *Manager) votersNamed() error {
	for id := range g.base.voters() {
		named := slices.ContainsFunc(g.members, func(m *managed) bool { return m.ID == id }) ||
			slices.ContainsFunc(g.departed, func(d departure) bool { return d.id == id && d.silent })
		if !named {
			return fmt.Errorf("the list %v does not name the voter %v", g.version, id)
		}
	}
	return nil
}

// checkLists checks the manager if its latest step has published a list: before it, the number of lists was the given one.
func (h *host) checkLists(before uint64) {
	if g := h.g; g.stats.Lists > before && g.role == active && !h.w.unchecked {
		if err := g.votersNamed(); err != nil {
			panic(fmt.Sprintf("node %d: %v", h.id, err))
		}
	}
}
