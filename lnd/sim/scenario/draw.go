package scenario

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"ulnet/lnd/sim"
)

// These constants are mixed into the second word of a PCG's seed, one for each use of random
// numbers. So the numbers for sets, for faults and for the network are independent of each other.
const (
	streamSets   = 0x5e75 << 48
	streamFaults = 0xfa17 << 48
)

// resolve draws the nodes of all sets, step by step; list must be in order of time. It reports
// steps that contradict an earlier step, and omits those for which no node is left to be drawn.
func (x *expansion) resolve(list []step) ([]step, Errors) {
	w := newWorld(x.file, x.nodes)
	var errs Errors
	done := make([]step, 0, len(list))
	pcg := rand.NewPCG(0, 0)
	rng := rand.New(pcg)
	x.visits += stepVisits*len(list) + x.nodes/16
	for _, s := range list {
		pcg.Seed(x.seed, streamSets^s.draw)
		ok, why := x.resolveStep(w, &s, rng)
		if x.visits > maxVisits {
			why = &mistake{1, "the steps name too many nodes in sum: want fewer steps, or smaller sets"}
		}
		if why != nil {
			errs = x.note(errs, &s, why)
			if len(errs) == maxErrors || x.visits > maxVisits {
				return nil, errs
			}
		}
		if ok {
			done = append(done, s)
		}
	}
	errs.sort()
	return done, errs
}

// note adds a mistake to the list, unless an earlier mistake of the same line is there.
func (x *expansion) note(errs Errors, s *step, why *mistake) Errors {
	if slices.ContainsFunc(errs, func(e *Error) bool { return e.Line == s.line.number }) {
		return errs
	}
	text := why.text
	if s.line.fault.when == whenEvery {
		text = "at " + formatTime(s.at) + ": " + text
	}
	return append(errs, &Error{x.file.Name, s.line.number, max(1, why.column), text})
}

// mistake says what is wrong with a step.
type mistake struct {
	column int
	text   string
}

// resolveStep draws the nodes of a step's sets and applies the step to the world. ok is false if
// the step is omitted, as when no node is left to be drawn; why, if not nil, says how the step
// contradicts an earlier one.
func (x *expansion) resolveStep(w *world, s *step, rng *rand.Rand) (ok bool, why *mistake) {
	a := &s.action
	if a.sets = slices.Clone(a.sets); a.sets != nil {
		return x.resolvePartition(w, a, rng)
	}
	if !x.pick(w, s, &a.nodes, rng, nil) || !x.pick(w, s, &a.to, rng, nil) {
		return false, nil
	}
	if text := w.doAll(a); text != "" {
		return false, &mistake{a.column, text}
	}
	switch a.verb {
	case "cut", "stall", "link", "access", "skew", "slow":
		return true, nil // this step is possible in any state of its nodes, and does not change that state
	}
	for id := range a.nodes.Of.All(w.nodes) {
		if x.visits++; x.visits > maxVisits {
			return false, nil
		}
		if text := w.refuse(a.verb, id, s.at); text != "" {
			return true, &mistake{a.nodes.column, text}
		}
		w.do(a, id, s.at)
	}
	return true, nil
}

// resolvePartition draws the nodes of the sets of a partition, which must not overlap.
func (x *expansion) resolvePartition(w *world, a *action, rng *rand.Rand) (bool, *mistake) {
	w.doAll(a)
	if len(a.sets) > 1 {
		if why := x.apart(w, a, rng); why != nil {
			return true, why
		}
	} else {
		x.pick(w, &step{action: *a}, &a.sets[0], rng, nil)
	}
	a.sets = slices.DeleteFunc(a.sets, func(s set) bool { return s.Of.Len(w.nodes) == 0 })
	return len(a.sets) > 0 && x.visits <= maxVisits, nil
}

// apart draws sets that have no node in common, and returns a mistake if the file names a node in
// two of them. Sets whose nodes the file names come first, and the drawn sets avoid these nodes.
func (x *expansion) apart(w *world, a *action, rng *rand.Rand) *mistake {
	taken := make(map[sim.NodeID]bool)
	for _, drawn := range []bool{false, true} {
		for i := range a.sets {
			s := &a.sets[i]
			if (s.Any > 0) != drawn {
				continue
			}
			x.pick(w, &step{action: *a}, s, rng, taken)
			for id := range s.Of.All(w.nodes) {
				if x.visits++; x.visits > maxVisits {
					return nil
				}
				if taken[id] {
					return &mistake{s.column, fmt.Sprintf("node %v is in two of the sets", id)}
				}
				taken[id] = true
			}
		}
	}
	return nil
}

// pick draws the nodes of a set that is to be drawn: from the nodes to which the step's action can
// be done and that are not in except. It returns false if there is no such node.
func (x *expansion) pick(w *world, s *step, set *set, rng *rand.Rand, except map[sim.NodeID]bool) bool {
	if set.Any == 0 {
		return true
	}
	chosen := make([]sim.NodeID, 0, min(set.Any, set.Of.Len(w.nodes)))
	seen := 0
	for id := range set.Of.All(w.nodes) {
		if x.visits++; x.visits > maxVisits {
			return false
		}
		if except[id] || w.refuse(s.action.verb, id, s.at) != "" {
			continue
		}
		// Reservoir sampling: each of the nodes seen so far is chosen with the same probability.
		if seen++; len(chosen) < set.Any {
			chosen = append(chosen, id)
		} else if i := rng.IntN(seen); i < set.Any {
			chosen[i] = id
		}
	}
	set.Any, set.Of = 0, sim.Nodes(chosen...)
	return len(chosen) > 0
}
