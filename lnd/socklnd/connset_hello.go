package socklnd

import (
	"time"

	"ulnet/lnd/socklnd/ksock"
)

// hello decides about a connection that the peer opens, in the order of
// ksocknal_create_conn.
func (s *connSet) hello(now time.Duration, in setInput, out *setOutput) {
	switch {
	case s.dialling && s.cfg.peer.NID.Compare(s.cfg.self) < 0:
		out.outcome = outcomeRace
	case s.known() && s.incarnation != in.incarnation:
		out.outcome = outcomeRestarted
		s.close(now, newError(PeerRestarted, s.cfg.peer, nil), out)
	case s.known() && s.version != in.version:
		out.outcome = outcomeVersion
		s.close(now, newError(ProtocolChanged, s.cfg.peer, nil), out)
	case s.count(in.ctype) >= s.limit(in):
		out.outcome = outcomeDuplicate
	default:
		out.outcome = outcomeAccept
		out.generation = s.generation
		s.accepting[in.ctype]++
		s.version, s.incarnation = in.version, in.incarnation
	}
}

// limit is how many connections of a type a peer may open.
func (s *connSet) limit(in setInput) int {
	switch {
	case in.sameHost: // kernels do not limit connections within one host
		return maxConnsPerPeer
	case in.ctype == ksock.Control:
		return 1
	}
	return s.cfg.connsPerPeer
}

// accepted handles a connection of the peer after this side's answer was written. If all
// connections of the peer were closed while the answer was written, this one is closed too: an
// error ends all connections that the peer has at that time.
func (s *connSet) accepted(in setInput, out *setOutput) {
	s.accepting[in.ctype]--
	if in.generation != s.generation {
		out.outcome = outcomeOutlived
		s.forget()
		return
	}
	s.register(in, out)
}

// register adds a connection. It ends every back-off, since the peer answers.
func (s *connSet) register(in setInput, out *setOutput) {
	out.up = sum(s.have) == 0
	s.have[in.ctype]++
	if carriesLNet(in.version, in.ctype) {
		s.queued = false
	}
	s.refusals, s.renegotiated = 0, 0
	if s.cfg.dialOnly && s.routed {
		s.redials = maxRedials
	}
	s.retryAt, s.retryInterval, s.failure = 0, 0, nil
}
