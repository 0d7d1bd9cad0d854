package engine

import (
	"bytes"

	"ulnet/scoll/wire"
)

// What a member knows of the attempts of a broadcast to the live members, see
// again.go: whichever of them comes first to it is run, and the others are
// answered for with what came of that. Requests are attempts of one broadcast if they
// say the same, too: a parent that makes up another one keeps no true one from being
// run.

// isAttempt reports whether two requests over a group are attempts of one broadcast.
func (r *request) isAttempt(roster *wire.Membership, o *request) bool {
	return o.header.First == r.header.First && o.header.RootIncarnation == r.header.RootIncarnation &&
		o.roster.NID(int(o.header.Root)) == roster.NID(int(r.header.Root)) &&
		bytes.Equal(o.body[o.header.ListSize:], r.body[r.header.ListSize:])
}

// attempts calls f for the other requests here that are attempts of the broadcast of
// one.
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

// isUndecided reports whether another attempt may yet be run or refused here. What
// to say to this one is known later.
func (m *Machine) isUndecided(g *group, roster *wire.Membership, r *request) (is bool) {
	m.attempts(g, roster, r, func(o *request) {
		is = is || o.incoming == notCalled && o.bulk == wire.OK && !o.answered
	})
	return is
}

// remember notes that a request is run here.
func (m *Machine) remember(r *request) {
	if !r.root && r.header.Flags&wire.FlagSubset != 0 {
		r.group.rootOf(r, r.roster, m.now).note(r.header.First, r.payloadSum())
	}
}

// recall keeps a request from being run once more: it waits for the attempt that
// runs, if one does, or fails as that did.
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

// tellAttempts lets the other attempts know how running a request has ended.
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
