package scoll

import "slices"

// What a member knows of the attempts of a broadcast to the live members, see
// again.go: whichever of them comes first to it is run, and the others are
// answered for with what came of that.

// failure is what came of a request that a service has failed to run.
type failure struct {
	first  uint64
	status Status
}

// rootState returns what is known of the root of a request.
func (r *request) rootState() *rootState { return r.group.rootOf(r.roster.NID(int(r.header.Root))) }

// attempts calls f for the requests here that are attempts of a broadcast.
func (m *Machine) attempts(g *group, roster *Membership, h *RequestHeader, f func(*request)) {
	if g.inFlight == 0 || h.Flags&FlagSubset == 0 {
		return
	}
	root := roster.NID(int(h.Root))
	for _, o := range m.requests.slots {
		if o.phase != idle && !o.root && o.group == g && o.header.First == h.First &&
			o.header.RootIncarnation == h.RootIncarnation && o.roster.NID(int(o.header.Root)) == root {
			f(o)
		}
	}
}

// isUndecided reports whether another attempt may yet be run or refused here. What
// to say to this one is known later.
func (m *Machine) isUndecided(g *group, roster *Membership, h *RequestHeader) (is bool) {
	m.attempts(g, roster, h, func(o *request) {
		is = is || o.incoming == notCalled && o.bulk == OK && !o.answered
	})
	return is
}

// remember notes that a request is run here.
func (r *request) remember() {
	if r.root || r.header.Flags&FlagSubset == 0 {
		return
	}
	if s := r.rootState(); s.incarnation == r.header.RootIncarnation {
		s.ran.add(r.header.First)
	}
}

// recall keeps a request from being run once more: it waits for the attempt that
// runs, if one does, or fails as that did.
func (m *Machine) recall(r *request, root *rootState) {
	if r.header.Flags&FlagSubset == 0 || !root.ran.has(r.header.First) {
		return
	}
	r.repeated, r.incoming = true, returned
	for _, f := range root.failures {
		if f.first == r.header.First {
			r.failed = f.status
			r.trailer = append(r.trailer, Missing{uint32(r.rank), f.status, Node})
		}
	}
	m.attempts(r.group, r.roster, &r.header, func(o *request) {
		if o != r && !o.repeated && o.incoming == called && o.bulk == OK {
			r.incoming = called
		}
	})
}

// tellAttempts lets the other attempts know how running a request has ended.
func (m *Machine) tellAttempts(r *request, s Status) {
	if r.root || r.repeated || r.bulk != OK || r.header.Flags&FlagSubset == 0 {
		return
	}
	if root := r.rootState(); s != OK && root.incarnation == r.header.RootIncarnation {
		old := func(f failure) bool { return root.ran.top-f.first >= windowSize }
		root.failures = append(slices.DeleteFunc(root.failures, old), failure{r.header.First, s})
	}
	m.attempts(r.group, r.roster, &r.header, func(o *request) {
		if o.repeated && o.incoming == called && o.bulk == OK {
			m.ran(o, s)
		}
	})
}
