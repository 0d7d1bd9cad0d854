package kit

import (
	"iter"
	"slices"
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/sim"
)

// LinkHistory records what was done to the links of a network. An oracle asks it which faults the
// links had at an earlier time. The zero value is the history of a network without faults.
type LinkHistory struct {
	later  []LinkState // states after the first one, which has no faults; ordered by time
	stalls []stall
}

// stall is a time in which messages from some nodes to others wait.
type stall struct {
	from, to sim.NodeSet
	until    time.Duration
}

// LinkState has the partition, the cuts and the changes of links, from an instant on.
type LinkState struct {
	sim.Cuts

	at      time.Duration
	changes []linkChange // changes of links in order of time; a later one overrides an earlier one
}

type linkChange struct {
	from, to sim.NodeSet
	change   link.Change
}

// Happens records an act that concerns links, and ignores others. nodes is the number of nodes.
func (h *LinkHistory) Happens(a *sim.Act, now time.Duration, nodes int) {
	if a.Verb == sim.Stall {
		h.stalls = append(h.stalls, stall{a.From, a.To, now + a.Extra})
		return
	}
	var s LinkState
	if last := len(h.later) - 1; last >= 0 {
		s = h.later[last]
	}
	s.at, s.Pairs, s.changes = now, slices.Clip(s.Pairs), slices.Clip(s.changes)
	switch a.Verb {
	case sim.Partition:
		s.Partition(nodes, a.Sets)
	case sim.Cut:
		s.Cut(a.From, a.To)
	case sim.Heal:
		s.Heal()
	case sim.SetLink:
		s.changes = append(s.changes, linkChange{a.From, a.To, a.Change})
	case sim.ResetLinks:
		s.changes = nil
	default:
		return
	}
	h.later = append(h.later, s)
}

// Since yields the states that the links were in at any time since an instant.
func (h *LinkHistory) Since(at time.Duration) iter.Seq[*LinkState] {
	return func(yield func(*LinkState) bool) {
		if len(h.later) == 0 || h.later[0].at >= at {
			if !yield(&LinkState{}) {
				return
			}
		}
		for i := range h.later {
			if i+1 < len(h.later) && h.later[i+1].at < at {
				continue
			}
			if !yield(&h.later[i]) {
				return
			}
		}
	}
}

// Stalled reports whether messages from one node to another had to wait at any time since an instant.
func (h *LinkHistory) Stalled(from, to sim.NodeID, since time.Duration) bool {
	return slices.ContainsFunc(h.stalls, func(s stall) bool { return s.until >= since && s.from.Has(from) && s.to.Has(to) })
}

// Latest returns the present state of the links.
func (h *LinkHistory) Latest() *LinkState {
	if len(h.later) == 0 {
		return &LinkState{}
	}
	return &h.later[len(h.later)-1]
}

// Quality returns the quality of the links from one node to another in this state. first is the
// quality that the links had at the beginning of the run.
func (s *LinkState) Quality(first link.Quality, from, to sim.NodeID) link.Quality {
	for _, c := range s.changes {
		if c.from.Has(from) && c.to.Has(to) {
			first = c.change.Apply(first)
		}
	}
	return first
}
