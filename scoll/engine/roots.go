package engine

import (
	"cmp"
	"crypto/sha256"
	"slices"
	"time"

	"ulnet/lnet/nid"
	"ulnet/scoll/wire"
)

// rootState is what a node knows of a root of a group in one incarnation, as one
// parent tells it. What another parent tells is kept apart: numbers that one makes up
// must not make those of the others look like replays.
type rootState struct {
	nid, parent nid.NID
	incarnation uint64
	used        time.Duration
	seen        window // sequences
	runs        []run  // broadcasts to the live members, the oldest first
}

// run is a broadcast to the live members that the service was to run here.
type run struct {
	first   uint64      // sequence of its first attempt
	payload wire.Digest // of what it says
	status  wire.Status // what came of it, if that is known
}

// maxRoots bounds the roots of a group that one parent tells of. What was known of the
// one that was not used for longest is forgotten: only whether that parent repeats
// itself.
const maxRoots = 64

// rootOf returns what is known of the root of a request, which it takes note of.
func (g *group) rootOf(r *request, roster *wire.Membership, now time.Duration) *rootState {
	id, incarnation := roster.NID(int(r.header.Root)), r.header.RootIncarnation
	i := slices.IndexFunc(g.roots, func(s rootState) bool {
		return s.nid == id && s.incarnation == incarnation && s.parent == r.parent
	})
	if i < 0 {
		i = g.roomForRoot(r.parent)
		g.roots[i] = rootState{nid: id, parent: r.parent, incarnation: incarnation}
	}
	g.roots[i].used = now
	return &g.roots[i]
}

// roomForRoot returns the index of a root that may be overwritten.
func (g *group) roomForRoot(parent nid.NID) int {
	count, oldest := 0, 0
	for i := range g.roots {
		if g.roots[i].parent != parent {
			continue
		}
		if count++; count == 1 || g.roots[i].used < g.roots[oldest].used {
			oldest = i
		}
	}
	if count == maxRoots {
		return oldest
	}
	g.roots = append(g.roots, rootState{})
	return len(g.roots) - 1
}

// forgetRoots forgets earlier incarnations of a root.
func (g *group) forgetRoots(id nid.NID, incarnation uint64) {
	g.roots = slices.DeleteFunc(g.roots, func(s rootState) bool { return s.nid == id && s.incarnation < incarnation })
}

// payloadSum is a digest of what a request says, without the list of members that may
// ride on it.
func (r *request) payloadSum() wire.Digest {
	sum := sha256.Sum256(r.body[r.header.ListSize:])
	return wire.Digest(sum[:])
}

// note records a run. Broadcasts too old to be attempted again are forgotten.
func (s *rootState) note(first uint64, payload wire.Digest) {
	newest := first
	for i := range s.runs {
		if s.runs[i].first == first && s.runs[i].payload == payload {
			return
		}
		newest = max(newest, s.runs[i].first)
	}
	s.runs = slices.DeleteFunc(s.runs, func(old run) bool { return newest-old.first >= windowSize })
	if len(s.runs) == windowSize {
		s.runs = slices.Delete(s.runs, 0, 1)
	}
	s.runs = append(s.runs, run{first: first, payload: payload})
}

// runOf returns the record of a run of the broadcast that a request is an attempt of,
// whichever parent the other attempt came from; nil: there was none.
func (g *group) runOf(r *request, roster *wire.Membership) *run {
	var payload wire.Digest
	root := roster.NID(int(r.header.Root))
	for i := range g.roots {
		s := &g.roots[i]
		if s.nid != root || s.incarnation != r.header.RootIncarnation {
			continue
		}
		for j := range s.runs {
			if s.runs[j].first != r.header.First {
				continue
			}
			if payload == (wire.Digest{}) {
				payload = r.payloadSum()
			}
			if s.runs[j].payload == payload {
				return &s.runs[j]
			}
		}
	}
	return nil
}

// setStatus records what came of a run.
func (g *group) setStatus(r *request, s wire.Status) {
	if found := g.runOf(r, r.roster); found != nil {
		found.status = cmp.Or(found.status, s)
	}
}
