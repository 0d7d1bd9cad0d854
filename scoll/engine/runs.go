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

// maxRuns bounds the runs of a group that came from one parent, whatever their roots: a parent can forge
// these. The oldest is dropped. So runs are not lost with the state of their root, see maxRoots.
const maxRuns = 1024

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
	oldest, count := 0, 0
	for i := range g.runs {
		if g.runs[i].parent != r.parent {
			continue
		}
		if count++; count == 1 {
			oldest = i
		}
	}
	if count >= maxRuns {
		g.runs = slices.Delete(g.runs, oldest, oldest+1)
	}
	g.runs = append(g.runs, r)
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
