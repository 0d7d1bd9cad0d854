package o2iblnd

import (
	"errors"
	"time"

	"ulnet/lnd/o2iblnd/kib"
)

// request decides about a request of the peer that is valid by itself (o2iblnd-wire §7.1
// from step 6 on).
func (s *peerSet) request(now time.Duration, in peerIn, out *peerOut) {
	known := s.have+s.accepting > 0
	if known && (s.stamp != in.stamp || s.version != in.version) {
		s.stamp, s.version = in.stamp, in.version
		out.why, out.reason, out.closeStale = kib.ConnStale, RefusedRestart, true
		return
	}
	if s.have+s.accepting >= maxConns {
		out.why, out.reason = kib.NoResources, RefusedLimit
		return
	}
	if s.wins(now) {
		s.races++
		out.why, out.reason = kib.ConnRace, RefusedRace
		return
	}
	s.races = 0
	s.stamp, s.version = in.stamp, in.version
	s.accept(now, out)
}

// accept counts a request of the peer as accepted, from which a connection is expected. If an accepted request is
// still fresh (acceptPending), accept drops this side's requests that wait to be repeated; and if the peer's
// NID is the higher one, accept withdraws this side's requests that have no answer yet.
func (s *peerSet) accept(now time.Duration, out *peerOut) {
	if s.accepting++; s.accepting == 1 && !s.vain {
		s.acceptedAt = now
	}
	if !s.acceptPending(now) {
		return
	}
	s.peerWins = s.peerWins || s.retries > 0
	s.retries, s.retryAt = 0, 0
	out.withdraw = s.connecting > 0 && higher(s.cfg.peer, s.cfg.self)
}

// acceptTimeout is how long waiting messages rely on an accepted request to become a
// connection: the CM repeats its answer three times in this time. The request may be forged, so
// forged requests, however many, delay this side's own request by no more than that. Local
// policy.
const acceptTimeout = time.Second

// acceptPending reports whether an accepted request may still become a connection within
// acceptTimeout.
func (s *peerSet) acceptPending(now time.Duration) bool {
	return s.accepting > 0 && now < s.acceptedAt+acceptTimeout
}

// inspectRequest checks the private data of a request as far as it can be without knowing the NI
// (o2iblnd-wire §7.1 steps 2 and 5). version is the version for the reject.
func inspectRequest(b []byte) (m kib.Msg, why Reason, version kib.Version, err error) {
	version = kib.V2
	v, _, err := kib.ParsePrefix(b)
	switch {
	case errors.Is(err, kib.ErrShort):
		return m, RequestCut, version, err
	case errors.Is(err, kib.ErrMagic):
		return m, RequestMagic, version, err
	case err != nil || v != kib.V2:
		return m, RequestVersion, version, kib.ErrVersion
	}
	if m, err = kib.ParseMsg(b); err == nil {
		err = m.VerifyChecksum(b)
	}
	switch {
	case errors.Is(err, kib.ErrShort):
		return m, RequestCut, version, err
	case err != nil:
		return m, RequestBad, version, err
	case m.Type != kib.ConnReq:
		return m, RequestType, version, kib.ErrType
	}
	return m, ReasonNone, version, nil
}

// inspectParams compares the parameters of a request with what an NI allows (o2iblnd-wire §6).
func inspectParams(p kib.ConnParams, depth int) (kib.Why, Reason) {
	switch {
	case int(p.QueueDepth) > depth || p.QueueDepth == 0:
		return kib.MsgQueueSize, RefusedDepth
	case p.MaxFrags > kib.MaxFrags || p.MaxFrags == 0:
		return kib.RDMAFrags, RefusedFrags
	case p.MaxMsgSize > kib.MaxMsgSize:
		return kib.Fatal, RefusedSize
	}
	return 0, ReasonNone
}
