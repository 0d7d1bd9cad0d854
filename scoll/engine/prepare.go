package engine

import "ulnet/scoll/wire"

// prepared handles the return of pre-request. After an error the request ends and is not
// forwarded (SC-66).
func (m *Machine) prepared(r *request, in *Input) {
	if r.phase != preparing {
		m.stats.Late++
		return
	}
	switch {
	case r.root:
		m.preparedAgain(r, in.Status)
		return
	case in.Status != wire.OK:
		m.stats.Rejected++
		m.reject(r, in.Status)
		return
	case r.aborted:
		m.refuseFor(r, wire.ECANCELED)
	}
	if r.answered { // the module has answered already: the request is not forwarded, and ends with reply-out
		if r.failed = wire.ETIMEDOUT; r.aborted {
			r.failed = wire.ECANCELED
		}
		r.children, r.pending = r.children[:0], 0 // the children have not been sent the request
		m.leave(r)
		return
	}
	if in.Timeout > r.processing {
		r.processing = in.Timeout
		m.stats.LongWaits++
	}
	if r.header.Bulk.Length > 0 {
		m.load(r)
		return
	}
	m.run(r)
}

// fetched handles the end of a fetch of a list of members or of bulk data.
func (m *Machine) fetched(r *request, in *Input) {
	switch {
	case r.phase == listing && in.Status != wire.OK:
		m.reject(r, in.Status)
	case r.phase == listing:
		r.phase = mapping
		m.unlist(r)
		m.learn(r, in.Data)
	case r.pipe.loading && in.Status == wire.OK && r.bulk == wire.OK:
		m.loaded(r)
	case r.pipe.loading:
		m.lost(r, in.Status)
	case r.phase != loading:
		m.stats.Late++
	case in.Status == wire.OK && !r.answered:
		m.run(r)
	default:
		m.lost(r, in.Status)
	}
}

// lost fails the request after a bulk fetch error. It notifies the parent and the children that
// already have the request, and does not send the request to other children. It reports the
// error to the service for each child and for the request (SC-A18).
func (m *Machine) lost(r *request, s wire.Status) {
	switch {
	case r.bulk != wire.OK:
		s = r.bulk
	case s == wire.OK:
		s = wire.ETIMEDOUT
	}
	m.refuseFor(r, s)
	if r.bulk == wire.OK {
		m.tellChildren(r, s)
	}
	r.pipe.loading = false
	r.phase, r.bulk, r.incoming = running, s, called
	for i := range r.children {
		switch c := &r.children[i]; c.state {
		case unsent:
			c.state = done
			r.pending--
			r.calls++
			m.emit(Effect{Kind: CallReply, ID: r.id, Child: i, Rank: c.Rank, Status: s, Collective: true, Final: true})
		case waiting, retrying:
			m.fail(r, i, s)
		}
	}
	m.emit(Effect{Kind: CallIncoming, ID: r.id, Status: s})
}
