package engine

import (
	"cmp"
	"crypto/sha256"
	"slices"

	"ulnet/lnet/nid"
	"ulnet/scoll/wire"
)

// run records that the service of this node was called for a broadcast to the live members, so that another
// attempt of that broadcast does not run again.
type run struct {
	first        uint64 // sequence number of the first attempt
	incarnation  uint64 // incarnation of the root
	root, parent nid.NID
	payload      wire.Digest // digest of the payload
	status       wire.Status // result of the broadcast, once known
}

// maxRuns bounds the runs of a group that came from one parent, for all roots together, because a parent can forge
// runs of any root. When the bound is reached, the roots with the most runs lose their oldest ones, so that no root
// can push out the runs of others. The runs of a root stay when its rootState is overwritten, see maxRoots.
const maxRuns = 1024

// thinned is how many runs thin drops at a time, so that a node need not look for the roots with the most runs at each
// new run.
const thinned = maxRuns / 16

// payloadSum returns the digest of a request's payload, without the list of members.
func (r *request) payloadSum() wire.Digest {
	sum := sha256.Sum256(r.body[r.header.ListSize:])
	return wire.Digest(sum[:])
}

// note records a run. It drops the runs of broadcasts of the same root that are too old for another attempt.
func (g *group) note(r run) {
	g.runs = slices.DeleteFunc(g.runs, func(old run) bool {
		return old.root == r.root && old.incarnation == r.incarnation && old.parent == r.parent && r.first > old.first && r.first-old.first >= windowSize
	})
	g.roomForRun(&r)
	g.runs = append(g.runs, r)
}

// roomForRun makes room for a run: it drops the oldest run of the same root if the root has windowSize runs, otherwise
// some runs that came from the same parent if there are maxRuns of these.
func (g *group) roomForRun(r *run) {
	ofParent, ofRoot, oldest := 0, 0, 0
	for i := range g.runs {
		old := &g.runs[i]
		if old.parent != r.parent {
			continue
		}
		ofParent++
		if old.root != r.root {
			continue
		}
		if ofRoot++; ofRoot == 1 {
			oldest = i
		}
	}
	switch {
	case ofRoot >= windowSize:
		g.runs = slices.Delete(g.runs, oldest, oldest+1)
	case ofParent >= maxRuns:
		g.thin(r.parent)
	}
}

// thin drops as many runs that came from a parent as thinned says: the oldest ones of the roots that have the most.
func (g *group) thin(parent nid.NID) {
	var order []int // indices, the latest run first
	for i := range slices.Backward(g.runs) {
		if g.runs[i].parent == parent {
			order = append(order, i)
		}
	}
	takeTurns(order, func(i int) nid.NID { return g.runs[i].root })
	dropped := order[len(order)-thinned:]
	slices.Sort(dropped)
	for _, i := range slices.Backward(dropped) {
		g.runs = slices.Delete(g.runs, i, i+1)
	}
}

// takeTurns sorts elements so that the first ones of all owners precede the second ones, and so on.
func takeTurns[Owner comparable](order []int, owner func(i int) Owner) {
	turn, next := make([]int, slices.Max(order)+1), make(map[Owner]int)
	for _, i := range order {
		turn[i] = next[owner(i)]
		next[owner(i)]++
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(turn[a], turn[b]) })
}

// runOf returns the run of an earlier attempt of a request's broadcast, whichever parent that
// attempt came from, or nil.
func (g *group) runOf(r *request, roster *wire.Membership) *run {
	var payload wire.Digest
	root := roster.NID(int(r.header.Root))
	for i := range g.runs {
		known := &g.runs[i]
		if known.first != r.header.First || known.incarnation != r.header.RootIncarnation || known.root != root {
			continue
		}
		if payload == (wire.Digest{}) {
			payload = r.payloadSum()
		}
		if known.payload == payload {
			return known
		}
	}
	return nil
}

// setStatus records the result of a run.
func (g *group) setStatus(r *request, s wire.Status) {
	if found := g.runOf(r, r.roster); found != nil {
		found.status = cmp.Or(found.status, s)
	}
}
