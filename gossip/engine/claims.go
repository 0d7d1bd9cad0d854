package engine

import (
	"slices"

	"ulnet/lnet/nid"
)

// claim is the clock of a peer that is out of step with this node's.
type claim struct {
	from  nid.NID
	clock uint64
	first uint64 // this node's cycle in which the peer first sent this clock
	last  uint64 // this node's cycle in which the peer last sent it
}

// claims has, for each peer whose clock was out of step with this node's, the clock of its latest
// message (a claim). Two peers are enough for a decision, so it remembers at most maxClaims peers.
type claims []claim

const maxClaims = 16

// add notes the clock of a message that is out of step. If the peer's earlier claim is recent
// and agrees with the clock, the new claim counts from the same cycle as the earlier one.
func (c *claims) add(n claim, within int, tolerance uint64) {
	old := c.find(n.from)
	switch {
	case old != nil && n.last-old.last <= uint64(within) && apart(old.clock, n.clock) <= tolerance:
		n.first = old.first
		*old = n
	case old != nil:
		*old = n
	case len(*c) < maxClaims:
		*c = append(*c, n)
	default:
		*c.oldest() = n
	}
}

// find returns the claim of a peer, nil for none.
func (c claims) find(from nid.NID) *claim {
	for i := range c {
		if c[i].from == from {
			return &c[i]
		}
	}
	return nil
}

// oldest returns the claim that was repeated least recently. There must be at least one claim.
func (c claims) oldest() *claim {
	at := &c[0]
	for i := range c {
		if c[i].last < at.last {
			at = &c[i]
		}
	}
	return at
}

// remove forgets the claim of a peer whose clock is in step.
func (c *claims) remove(from nid.NID) {
	*c = slices.DeleteFunc(*c, func(n claim) bool { return n.from == from })
}

// vote counts the peers that are out of step and claim the same clock.
type vote struct {
	agree, differ int
	first         uint64 // this node's cycle of the first claim among those that agree
	highest       uint64 // highest Lamport clock among the participants that agree
}

// vote counts the peers whose claims agree with the given clock, and those whose claims do not. It
// ignores claims that were last repeated longer ago than the parameter within says, in cycles.
func (c claims) vote(clock, cycle uint64, within int, tolerance uint64) vote {
	v := vote{first: cycle}
	for i := range c {
		switch n := &c[i]; {
		case n.clock >= maxClock || cycle-n.last > uint64(within):
		case apart(n.clock, clock) <= tolerance:
			v.agree++
			v.first, v.highest = min(v.first, n.first), max(v.highest, n.clock)
		default:
			v.differ++
		}
	}
	return v
}

func apart(a, b uint64) uint64 { return max(a, b) - min(a, b) }

// ahead reports whether two peers or more have lately claimed the same clock, which is ahead of this node's. They may be
// right: then this node, and those in step with it, were paused.
func (c claims) ahead(m *Machine) bool {
	for i := range c {
		if n := &c[i]; n.clock > m.clock.value && c.vote(n.clock, m.cycle, m.limits.Dead, m.tolerance()).agree >= 2 {
			return true
		}
	}
	return false
}
