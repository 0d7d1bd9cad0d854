package engine

import (
	"ulnet/lnet/machine"
	"ulnet/scoll/wire"
)

// ran handles the return of incoming-request. If that returns an error, the module sends the reply
// itself as soon as post-reply has returned too (SC-133), unless the service has sent the reply by then.
func (m *Machine) ran(r *request, s wire.Status) {
	if r.incoming != called {
		m.stats.Late++
		return
	}
	r.incoming = returned
	m.tellAttempts(r, s)
	if r.failed = s; s != wire.OK && !r.answered {
		r.trailer = append(r.trailer, wire.Missing{Rank: uint32(r.rank), Status: s, Scope: wire.Node})
	}
	if s != wire.OK && r.phase == posting && r.post == returned && !r.root && !r.answered {
		m.speak(r, s)
	}
	if r.phase == closing {
		m.leave(r)
		return
	}
	m.gather(r)
}

// posted handles the return of post-reply, which ends the request at the root.
func (m *Machine) posted(r *request) {
	if r.post != called {
		m.stats.Late++
		return
	}
	r.post = returned
	switch {
	case r.root:
		m.leave(r)
	case r.answered:
		m.settle(r)
	case r.failed != wire.OK:
		m.speak(r, r.failed)
	case r.aborted:
		m.speak(r, wire.ECANCELED)
	}
}

// answer sends a reply of the service. After an error of incoming-request the reply covers only
// the members below, and the trailer names this member as missing.
func (m *Machine) answer(r *request, in *Input) {
	if r.root || r.phase != posting || r.answered || r.failed != wire.OK && in.Final && !in.Below || !in.Final && r.parts == wire.MaxParts-1 {
		m.stats.Late++
		return
	}
	if in.Below && r.failed == wire.OK {
		r.trailer = append(r.trailer, wire.Missing{Rank: uint32(r.rank), Status: in.Status, Scope: wire.Node})
	}
	if in.Final && m.tooMany(r) {
		return
	}
	m.sendUp(r, up{own: true, final: in.Final, size: uint32(in.Size)}, in.Token)
	if in.Final {
		r.phase = leaving
	}
}

// overdue answers in place of a service that has not replied in time, and for a request that
// got stuck in an earlier phase, just before the parent's timeout (SC-A28).
func (m *Machine) overdue(r *request) {
	switch r.phase {
	case mapping:
		m.reject(r, wire.ETIMEDOUT)
		return
	case listing:
		m.refuseFor(r, wire.ETIMEDOUT)
		m.emit(Effect{Kind: DoStop, ID: r.id})
		m.discard(r)
		return
	case held:
		m.stats.HeldTooLong++
		m.reject(r, wire.EMAXACTIVE) // EMAXACTIVE: no member of the subtree has run the request
		return
	case preparing:
		m.refuseFor(r, wire.ETIMEDOUT)
		return
	case loading:
		m.refuseFor(r, wire.ETIMEDOUT)
		m.emit(Effect{Kind: DoStop, ID: r.id})
		return
	case running:
		if r.pipe.loading {
			m.sever(r, wire.ETIMEDOUT)
			return
		}
	}
	for i := range r.children {
		if c := &r.children[i]; c.state != done {
			r.miss(c, wire.ETIMEDOUT)
		}
	}
	if r.failed == wire.OK {
		m.stats.Silent++
	}
	m.speak(r, wire.ETIMEDOUT)
}

// speak sends the module's answer in place of the service's: the reason s, the kept answers of members below, and the
// trailer. s is OK if the request concerns the module alone, so that no service has to answer.
func (m *Machine) speak(r *request, s wire.Status) {
	switch {
	case r.failed != wire.OK:
		s = r.failed
	case s != wire.OK:
		r.trailer = append(r.trailer, wire.Missing{Rank: uint32(r.rank), Status: s, Scope: wire.Node})
	}
	m.stats.Lost += uint64(len(r.lost))
	r.nameLost()
	r.nameOnce()
	if m.tooMany(r) {
		return
	}
	m.sendUp(r, up{final: true, why: s}, nil)
	if r.phase == posting {
		r.phase = leaving
	}
}

// tooMany reports whether the trailer is too long for a message. If it is, tooMany answers the
// request with an error for the whole subtree, and the answers of the subtree do not count.
func (m *Machine) tooMany(r *request) bool {
	if len(r.trailer) <= MaxTrailer {
		return false
	}
	m.refuseFor(r, r.trailer[0].Status)
	if r.phase == posting {
		r.phase = leaving
	}
	m.settle(r)
	return true
}

// sendUp sends a part of the reply to the parent. The last part has the trailer.
func (m *Machine) sendUp(r *request, u up, token any) {
	u.part, u.at = r.parts, machine.Never
	r.parts++
	h := wire.ReplyHeader{
		RootIncarnation: r.header.RootIncarnation, Sequence: r.header.Sequence, Status: u.why, Part: u.part, PayloadSize: u.size,
	}
	if m.cfg.Signed {
		h.Flags |= wire.ReplySigned
	}
	var carried, trailer Range
	if h.Speaks() {
		carried = m.appendKept(r)
		h.Carried = uint32(carried.End - carried.Begin)
	}
	begin := len(m.out.Buf)
	if u.final {
		r.answered = true
		h.Flags, h.Trailer = h.Flags|wire.ReplyLast, uint32(len(r.trailer))
	}
	m.out.Buf = h.AppendTo(m.out.Buf)
	data := Range{begin, len(m.out.Buf)}
	if u.final {
		for _, e := range r.trailer {
			m.out.Buf = e.AppendTo(m.out.Buf)
		}
		trailer = Range{data.End, len(m.out.Buf)}
	}
	r.ups = append(r.ups, u)
	m.emit(Effect{
		Kind: DoReply, ID: r.id, To: r.parent, Bits: r.parentBits, Part: u.part,
		Own: u.own, Final: u.final, Data: data, Carried: carried, Trailer: trailer, Token: token,
	})
}

// sendUpAgain retries parts of the reply that could not be sent.
func (m *Machine) sendUpAgain(r *request) {
	for i := range r.ups {
		if u := &r.ups[i]; u.at <= m.now {
			u.at = machine.Never
			m.stats.Retries++
			m.emit(Effect{Kind: DoReply, ID: r.id, To: r.parent, Bits: r.parentBits, Part: u.part, Again: true})
		}
	}
}

// sentUp handles a part of the reply that has left, or could not be sent. After maxTries the
// machine gives the part up (SC-138); then the parent runs into its timeout, or discovery
// reports this node dead.
func (m *Machine) sentUp(r *request, in *Input) {
	for i := range r.ups {
		u := &r.ups[i]
		if u.part != in.Part {
			continue
		}
		if in.Status != wire.OK {
			if u.tries++; u.tries < maxTries {
				u.at = m.now + r.backOff(u.tries)
				m.schedule(r)
				return
			}
			m.stats.Unsent++
		}
		r.ups = append(r.ups[:i], r.ups[i+1:]...)
		break
	}
	m.settle(r)
}

// settle ends a request when its last reply has left.
func (m *Machine) settle(r *request) {
	if r.answered && len(r.ups) == 0 && (r.phase == leaving || r.phase == posting) && r.post != called {
		m.leave(r)
	}
}

// leave calls reply-out, which ends the request for the service, as soon as no peer and no
// incoming-request uses its buffers. At the root the request ended with post-reply, unless
// buffers were in use then.
func (m *Machine) leave(r *request) {
	busy := r.exposed && !r.withdrawn || r.incoming == called
	if r.phase != closing {
		r.phase = closing
		r.answered = true
		m.schedule(r)
		if r.root {
			m.complete(r)
		}
		if r.header.Flags&wire.FlagModule != 0 || r.root && !r.busy {
			r.out = returned
		}
	}
	switch {
	case busy:
	case r.out == returned:
		m.end(r)
	case r.out == notCalled:
		r.out = called
		m.emit(Effect{Kind: CallReplyOut, ID: r.id, Status: r.failed})
	}
}

// finished handles the end of the reply-out callback.
func (m *Machine) finished(r *request) {
	if r.out == called {
		m.end(r)
	}
}

// end forgets a request.
func (m *Machine) end(r *request) {
	if !r.root {
		m.discard(r)
		return
	}
	m.emit(Effect{Kind: DoFree, ID: r.id})
	m.requests.drop(r)
}

// abort stops waiting for the children (SC-A21), which may continue to run the request.
func (m *Machine) abort(r *request) {
	r.aborted = true
	switch r.phase {
	case held:
		m.cancel(r, wire.ECANCELED)
	case loading:
		m.emit(Effect{Kind: DoStop, ID: r.id})
	case running:
		if r.pipe.loading {
			m.sever(r, wire.ECANCELED)
			return
		}
		for i := range r.children {
			if r.children[i].state != done {
				m.fail(r, i, wire.ECANCELED)
			}
		}
		m.abandon(r, wire.ECANCELED)
		m.gather(r)
	case resting:
		m.postReply(r)
	case posting:
		if r.post == returned && !r.root && !r.answered {
			m.speak(r, wire.ECANCELED)
		}
	}
}

// abandon ends the wait of a root for its own incoming-request. If incoming-request has not
// returned when post-reply is called, the root counts as unreached, and buffers stay in use.
func (m *Machine) abandon(r *request, s wire.Status) {
	if r.awaitsItself() {
		r.abandoned = s
	}
}

// awaitsItself reports whether a root waits for its own incoming-request.
func (r *request) awaitsItself() bool {
	return r.root && r.incoming == called && r.abandoned == wire.OK
}
