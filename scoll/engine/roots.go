package engine

import (
	"cmp"
	"crypto/sha256"
	"slices"
	"time"

	"ulnet/lnet/nid"
	"ulnet/scoll/wire"
)

// rootState is what a node knows of one incarnation of a root of a group, from one parent. Each
// parent has a state of its own: sequence numbers that one parent forges do not make requests of
// another parent look like replays.
type rootState struct {
	nid, parent nid.NID
	incarnation uint64
	used        time.Duration
	seen        window // sequence numbers of broadcasts that were seen
	runs        []run  // broadcasts to the live members, the oldest first
}

// run records that the service of this node was called for a broadcast to the live members.
type run struct {
	first   uint64      // sequence number of the first attempt
	payload wire.Digest // digest of the payload
	status  wire.Status // result of the broadcast, once known
}

// maxRoots bounds the roots of a group from one parent. The least recently used state is
// overwritten; that affects only the detection of replays by that parent.
const maxRoots = 64

// rootOf returns the state of the root of a request, and creates it if there is none.
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

// roomForRoot returns the index of a new state, or of the one to overwrite.
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

// forgetRoots forgets earlier incarnations of a root in a group.
func (g *group) forgetRoots(id nid.NID, incarnation uint64) {
	g.roots = slices.DeleteFunc(g.roots, func(s rootState) bool { return s.nid == id && s.incarnation < incarnation })
}

// payloadSum returns the digest of a request's payload, without the list of members.
func (r *request) payloadSum() wire.Digest {
	sum := sha256.Sum256(r.body[r.header.ListSize:])
	return wire.Digest(sum[:])
}

// note records a run. It drops the runs of broadcasts that are too old for another attempt.
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

// runOf returns the run of an earlier attempt of a request's broadcast, whichever parent that
// attempt came from, or nil.
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

// setStatus records the result of a run.
func (g *group) setStatus(r *request, s wire.Status) {
	if found := g.runOf(r, r.roster); found != nil {
		found.status = cmp.Or(found.status, s)
	}
}
