package o2iblnd

import (
	"time"

	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// peerSet decides which connections a peer gets: when they are asked for and with
// which parameters, which requests of the peer are accepted, and what becomes of what waits
// when they fail (o2iblnd-wire §7). It is a machine in the sense of lnet/machine; the
// peer steps it under its lock.
//
//	state       entered by                     left by
//	idle        start, connections closed      peerSend: asks; peerStale: asks once
//	connecting  a connection was asked for     its result: peerConnected, peerRejected, peerFailed
//	waiting     lost a race, or rejected more  a pause, or a request of the peer
//	            than ten times
//	accepting   a request was accepted         peerAccepted, peerAcceptFailed; asks after a pause
//	connected   one of the two succeeded       peerClosed
type peerSet struct {
	cfg peerSetConfig

	have       int           // established connections
	connecting int           // asked for
	accepting  int           // accepted and not established
	acceptedAt time.Duration // of the first of these
	queued     bool

	version  kib.Version // of the peer; 0 while unknown
	stamp    uint64      // likewise
	depth    int         // to ask for: what a reject has offered, or peer_credits
	maxFrags int         // likewise
	mtu      int         // likewise, since the peer refuses larger ones; 0: it has refused none

	races      int           // requests in a row that lost against ours
	lost       int           // rounds in a row of ours that lost against the peer's
	yielded    bool          // an attempt ended because the peer's request is to win
	askedAt    time.Duration // of the latest attempt
	reconnects int           // in a row
	retries    int           // attempts that wait for retryAt
	retryAt    time.Duration // 0: none
	redial     bool          // what is asked for is for the peer to notice our incarnation
}

var _ machine.Machine[peerIn, peerOut] = (*peerSet)(nil)

// peerSetConfig is what a peerSet knows of its surroundings.
type peerSetConfig struct {
	self, peer   nid.NID
	stamp        uint64 // of this NI
	depth        int    // peer_credits
	connsPerPeer int
	mtu          int // that is configured, or of the device
}

// Bounds of attempts, which are the kernel's (o2iblnd-wire §7.2).
const (
	fastReconnects = 10
	reconnectPause = time.Second
	// mostConns is how many connections a peer can have: those that both sides
	// have asked for, and as many that it no longer knows of (local policy).
	mostConns = 4 * maxConnsPerPeer
)

func newPeerSet(cfg peerSetConfig) peerSet {
	return peerSet{cfg: cfg, depth: cfg.depth, maxFrags: kib.MaxFrags}
}

// Step implements machine.Machine.
func (s *peerSet) Step(now time.Duration, in peerIn, out *peerOut) time.Duration {
	s.queued = in.queued
	switch in.kind {
	case peerTimer, peerSend:
		s.send(now, out)
	case peerRequest:
		s.request(now, in, out)
	case peerAccepted:
		s.accepting--
		s.established(in.stamp, in.version, out)
	case peerAcceptFailed:
		s.accepting--
		s.failed(now, in.err, out)
	case peerConnected:
		s.connected(now, in, out)
	case peerRejected:
		s.rejected(now, in, out)
	case peerFailed:
		s.connecting--
		s.failed(now, in.err, out)
	case peerClosed:
		s.have--
		s.closed(now, in.err, out)
	case peerStale:
		s.stale(out)
	}
	s.retry(now, out)
	if out.connect > 0 {
		s.askedAt = now
	}
	switch {
	case s.retryAt > 0:
		return s.retryAt
	case s.queued && !s.expecting() && s.hoping(now):
		return s.acceptedAt + acceptPatience
	}
	return machine.Never
}

// send asks for connections if something waits, and none is there or to be expected.
func (s *peerSet) send(now time.Duration, out *peerOut) {
	if s.queued && !s.expecting() && !s.hoping(now) {
		s.yielded = false
		s.connecting = s.cfg.connsPerPeer
		out.connect = s.connecting
	}
}

// stale asks once for a connection, so that the peer closes those of an earlier incarnation of
// this NI. That it refuses (CONN_STALE) or does not answer is no failure: lnet is told nothing, and
// a message that has come meanwhile is sent as if nothing had been asked for.
func (s *peerSet) stale(out *peerOut) {
	if !s.expecting() && s.accepting == 0 {
		s.redial, s.connecting, out.connect = true, 1, 1
	}
}

// expecting reports whether a connection is there or asked for, or will be.
func (s *peerSet) expecting() bool { return s.have+s.connecting > 0 || s.retryAt > 0 }

// idle reports whether nothing is lost when the set is forgotten.
func (s *peerSet) idle() bool { return !s.expecting() && s.accepting == 0 }

// ask is what the next connection is asked for with.
func (s *peerSet) ask() ask {
	return ask{version: kib.V2, stamp: s.stamp, depth: s.depth, maxFrags: s.maxFrags, mtu: s.mtu, redial: s.redial}
}

// established takes a connection into use. Those to another incarnation of the peer end
// (o2iblnd-wire §7.4).
func (s *peerSet) established(stamp uint64, version kib.Version, out *peerOut) {
	out.closeStale = s.have > 0 && (s.stamp != stamp || s.version != version)
	s.stamp, s.version = stamp, version
	s.have++
	s.races, s.lost, s.yielded, s.redial, s.reconnects, s.retries, s.retryAt = 0, 0, false, false, 0, 0, 0
	out.up = s.have == 1
	out.withdraw = s.connecting > 0 && s.have >= s.cfg.connsPerPeer
}

// closed follows the end of a connection. With the last one what waits is asked for again.
func (s *peerSet) closed(now time.Duration, err *Error, out *peerOut) {
	if s.have > 0 {
		return
	}
	out.down, out.err = true, err
	s.send(now, out)
}

// failed follows an attempt that came to nothing and is not repeated. The last one ends
// what waits (kiblnd_peer_connect_failed), unless it was to be the peer's that succeeds.
func (s *peerSet) failed(now time.Duration, err *Error, out *peerOut) {
	s.yielded = s.yielded || s.have == 0 && err.Reason == RejectedRace
	if s.expecting() || s.hoping(now) {
		return
	}
	redial := s.redial
	again := (s.yielded || redial) && s.queued
	s.yielded, s.redial = false, false
	if again {
		s.reconnect(now, out)
		return
	}
	s.lost, s.reconnects = 0, 0
	if redial {
		return
	}
	out.failPending, out.down, out.err = true, true, err
}

// retry repeats attempts whose pause is over.
func (s *peerSet) retry(now time.Duration, out *peerOut) {
	if s.retryAt == 0 || now < s.retryAt {
		return
	}
	out.connect += s.retries
	s.connecting += s.retries
	s.retries, s.retryAt = 0, 0
}
