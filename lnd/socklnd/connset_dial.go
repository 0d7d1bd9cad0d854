package socklnd

import (
	"cmp"
	"time"

	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/machine"
)

func (s *connSet) send(now time.Duration, in setInput, out *setOutput) {
	s.routed = true
	busy := s.wanted || s.dialling || sum(s.accepting) > 0
	if _, missing := s.missing(); !busy && (!missing || now < s.retryAt) {
		out.outcome = outcomeUnreachable
		if s.failure != nil {
			out.err = &backOffError{wait: s.retryAt - now, last: s.failure}
		}
		return
	}
	out.outcome = outcomeQueue
	s.wanted = true
	s.queued = s.queued || !in.usable
}

// missing returns the next type to open: CONTROL, then BULK_IN and BULK_OUT
// in turn.
func (s *connSet) missing() (ksock.ConnType, bool) {
	n := s.cfg.connsPerPeer
	in, out := s.count(ksock.BulkIn), s.count(ksock.BulkOut)
	switch {
	case s.satisfied:
		return 0, false
	case s.cfg.untyped && s.dialVersion() < ksock.V3:
		return ksock.Any, s.count(ksock.Any) < n
	case s.count(ksock.Control) == 0:
		return ksock.Control, true
	case in < n && in <= out:
		return ksock.BulkIn, true
	}
	return ksock.BulkOut, out < n
}

// act requests the next dial. It fails waiting messages if no connection is to be expected.
func (s *connSet) act(now time.Duration, out *setOutput) {
	if s.dialling || sum(s.accepting) > 0 {
		return
	}
	if s.wanted && now >= s.retryAt || s.redials > 0 && now >= s.nextRedial() {
		ctype, missing := s.missing()
		s.wanted, s.dialling = missing, missing
		if missing {
			out.dial, out.dialType, out.dialVersion = true, ctype, s.dialVersion()
		}
	}
	if s.queued && !s.dialling && !s.wanted {
		s.queued = false
		out.failPending = true
	}
}

// nextRedial returns the earliest time at which a dial-only node, which no peer can dial, dials
// again although no message waits to be sent.
func (s *connSet) nextRedial() time.Duration { return max(s.retryAt, s.redialAt) }

// wake returns the next instant at which a dial is due without further input.
func (s *connSet) wake(now time.Duration) time.Duration {
	wake := machine.Never
	if s.dialling || sum(s.accepting) > 0 {
		return wake
	}
	if s.wanted && now < s.retryAt {
		wake = s.retryAt
	}
	if _, missing := s.missing(); missing && s.redials > 0 && now < s.nextRedial() {
		wake = min(wake, s.nextRedial())
	}
	return wake
}

func (s *connSet) dialVersion() ksock.Version { return cmp.Or(s.version, s.cfg.versions.preferred) }

// dialled adds a dialled connection, or refuses it if, during the dial, the peer has opened
// connections with another incarnation or version. Kernels then dial again at once; the pause is
// local policy, against a peer whose incarnation changes each time.
func (s *connSet) dialled(now time.Duration, in setInput, out *setOutput) {
	s.dialling = false
	switch {
	case s.known() && s.incarnation != in.incarnation:
		out.outcome = outcomeRestarted
		s.close(now, newError(PeerRestarted, s.cfg.peer, nil), out)
	case s.known() && s.version != in.version:
		out.outcome = outcomeVersion
		s.close(now, newError(ProtocolChanged, s.cfg.peer, nil), out)
	default:
		out.outcome = outcomeAccept
		s.version, s.incarnation = in.version, in.incarnation
		s.register(in, out)
		return
	}
	s.wanted = true
	s.retryAt = now + s.cfg.minReconnect
}

// refused handles an answer of type NONE: a lost race or one connection too
// many for the peer.
func (s *connSet) refused(now time.Duration, in setInput, out *setOutput) {
	s.refusals++
	if s.refusals < maxRefusals {
		s.dialling, s.wanted = false, true
		s.retryAt = now + s.cfg.minReconnect
		return
	}
	s.refusals = 0
	if s.have[ksock.Control] > 0 && s.have[ksock.BulkIn] > 0 && s.have[ksock.BulkOut] > 0 {
		s.dialling, s.wanted, s.satisfied = false, false, true
		return
	}
	s.dialFailed(now, in, out)
}

// otherVersion adopts the version of an answer of type NONE.
func (s *connSet) otherVersion(now time.Duration, in setInput, out *setOutput) {
	s.renegotiated++
	if s.known() && s.version == in.version && s.renegotiated <= maxRenegotiation {
		s.dialling, s.wanted = false, true // the peer has opened a connection meanwhile
		return
	}
	if !s.cfg.versions.includes(in.version) || s.renegotiated > maxRenegotiation || s.known() {
		s.dialFailed(now, in, out)
		return
	}
	s.dialling, s.wanted = false, true
	s.version = in.version
}

func (s *connSet) dialFailed(now time.Duration, in setInput, out *setOutput) {
	s.dialling, s.wanted = false, false
	s.renegotiated = 0
	s.redials = max(s.redials-1, 0)
	s.retryInterval = min(max(2*s.retryInterval, s.cfg.minReconnect), s.cfg.maxReconnect)
	s.retryAt = now + s.retryInterval
	s.failure = in.err
	out.err = in.err
	out.down = !s.known()
	s.forget()
}
