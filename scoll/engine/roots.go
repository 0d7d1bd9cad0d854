package engine

import (
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
	g.runs = slices.DeleteFunc(g.runs, func(old run) bool { return old.root == id && old.incarnation < incarnation })
	g.roots = slices.DeleteFunc(g.roots, func(s rootState) bool { return s.nid == id && s.incarnation < incarnation })
}
