package engine

import (
	"bytes"

	"ulnet/scoll/wire"
)

// A broadcast to the live members can have several attempts (see again.go). A member runs the
// first attempt that it gets, and answers later ones with the result of that run. Requests
// count as attempts of the same broadcast only if their payloads are equal. If the payload did not
// count, a parent could forge an attempt and so prevent a genuine one from running.

// isAttempt reports whether two requests over a group are attempts of one broadcast.
func (r *request) isAttempt(roster *wire.Membership, o *request) bool {
	return o.header.First == r.header.First && o.header.RootIncarnation == r.header.RootIncarnation &&
		o.roster.NID(int(o.header.Root)) == roster.NID(int(r.header.Root)) &&
		bytes.Equal(o.body[o.header.ListSize:], r.body[r.header.ListSize:])
}

// attempts calls f for each other request at this node that is an attempt of the same
// broadcast.
func (m *Machine) attempts(g *group, roster *wire.Membership, r *request, f func(*request)) {
	if g.inFlight == 0 || r.header.Flags&wire.FlagSubset == 0 {
		return
	}
	for _, o := range m.requests.slots {
		if o != r && o.phase != idle && !o.root && o.group == g && r.isAttempt(roster, o) {
			f(o)
		}
	}
}

// isUndecided reports whether the answer to this attempt is not known yet, because another
// attempt may still be run or refused at this node.
func (m *Machine) isUndecided(g *group, roster *wire.Membership, r *request) (is bool) {
	m.attempts(g, roster, r, func(o *request) {
		is = is || o.incoming == notCalled && o.bulk == wire.OK && !o.answered
	})
	return is
}

// remember records that this node runs a request.
func (m *Machine) remember(r *request) {
	if h := &r.header; !r.root && h.Flags&wire.FlagSubset != 0 {
		r.group.note(run{
			first: h.First, incarnation: h.RootIncarnation, root: r.roster.NID(int(h.Root)), parent: r.parent, payload: r.payloadSum(),
		})
	}
}

// recall keeps a request from running again if an earlier attempt has run: the request waits for
// that run, or takes its status.
func (m *Machine) recall(r *request) {
	if r.header.Flags&wire.FlagSubset == 0 {
		return
	}
	known := r.group.runOf(r, r.roster)
	if known == nil {
		return
	}
	r.repeated, r.incoming = true, returned
	if r.failed = known.status; r.failed != wire.OK {
		r.trailer = append(r.trailer, wire.Missing{Rank: uint32(r.rank), Status: r.failed, Scope: wire.Node})
	}
	m.attempts(r.group, r.roster, r, func(o *request) {
		if !o.repeated && o.incoming == called && o.bulk == wire.OK {
			r.incoming = called
		}
	})
}

// tellAttempts passes the status of a run on to the other attempts of its broadcast.
func (m *Machine) tellAttempts(r *request, s wire.Status) {
	if r.root || r.repeated || r.bulk != wire.OK || r.header.Flags&wire.FlagSubset == 0 {
		return
	}
	r.group.setStatus(r, s)
	m.attempts(r.group, r.roster, r, func(o *request) {
		if o.repeated && o.incoming == called && o.bulk == wire.OK {
			m.ran(o, s)
		}
	})
}
