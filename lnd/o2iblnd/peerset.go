package o2iblnd

import (
	"time"

	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// peerSet decides which connections a peer gets: when this side requests one and with which
// parameters, which requests of the peer it accepts, and what happens to waiting messages
// when requests fail (o2iblnd-wire §7). It is a machine in the sense of lnet/machine; the
// peer steps it under its lock.
//
//	state       entered by                     left by
//	idle        start, connections closed      peerSend: asks; peerStale: asks once
//	connecting  a connection was asked for     its result: peerConnected, peerRejected, peerFailed
//	waiting     lost a race, or rejected more  a pause, or a request of the peer
//	            than ten times
//	accepting   a request was accepted         peerAccepted, peerAcceptFailed; asks after a pause
//	connected   a connection is established    peerClosed
type peerSet struct {
	cfg peerSetConfig

	have       int           // number of established connections
	connecting int           // number of this side's requests without an answer yet
	accepting  int           // number of accepted requests not established yet
	acceptedAt time.Duration // when the oldest request in accepting was accepted; if vain is set: when the first one that failed was accepted
	vain       bool          // an accepted request has failed while messages wait, and no connection was established since
	queued     bool          // whether messages wait for a connection

	version  kib.Version // protocol version of the peer; 0 while unknown
	stamp    uint64      // incarnation stamp of the peer; 0 while unknown
	depth    int         // queue depth to request: what a reject has offered, or peer_credits
	maxFrags int         // fragments to request: what a reject has offered, or the largest number
	mtu      int         // path MTU to request, if the peer has refused larger ones; else 0

	races      int           // number of the peer's requests in a row that lost a race against this side's
	lost       int           // number of races in a row that this side's requests lost
	peerWins   bool          // a request of this side was given up in favor of the peer's
	askedAt    time.Duration // time of the last request
	reconnects int           // number of requests repeated at once, without a success between
	retries    int           // number of requests that wait to be repeated at retryAt
	retryAt    time.Duration // when to repeat the requests in retries; 0: none waits
	redial     bool          // the only purpose of the request is that the peer notices this incarnation
}

var _ machine.Machine[peerIn, peerOut] = (*peerSet)(nil)

// peerSetConfig has the parameters of a peerSet: of the NI, the peer and the device.
type peerSetConfig struct {
	self, peer   nid.NID
	stamp        uint64 // incarnation stamp of this NI
	depth        int    // queue depth: peer_credits
	connsPerPeer int
	fixedMTU     bool // the device cannot request another path MTU
}

// Bounds of attempts, which are the kernel's (o2iblnd-wire §7.2).
const (
	fastReconnects = 10
	reconnectPause = time.Second
	// maxConns bounds the connections of a peer (local policy). Each side may request
	// maxConnsPerPeer of them, and the same number again may be old ones that the peer no longer has.
	maxConns = 4 * maxConnsPerPeer
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
		s.acceptFailed(now, out)
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
	case s.lacks() && s.acceptPending(now):
		return s.acceptedAt + acceptTimeout
	}
	return machine.Never
}

// send requests connections if messages wait and there is no connection, nor any to expect.
func (s *peerSet) send(now time.Duration, out *peerOut) {
	if s.lacks() && !s.acceptPending(now) {
		s.peerWins, s.redial = false, false
		s.connecting += s.cfg.connsPerPeer
		out.connect = s.cfg.connsPerPeer
	}
}

// stale requests a connection once, so that the peer closes those of an earlier incarnation of
// this NI. If the peer refuses (CONN_STALE) or does not answer, that is no failure: lnet is not
// told. A message that is sent meanwhile does not wait for it, see lacks.
func (s *peerSet) stale(out *peerOut) {
	if !s.expecting() && s.accepting == 0 {
		s.redial, s.connecting, out.connect = true, 1, 1
	}
}

// expecting reports whether a connection is established, requested, or to be requested.
func (s *peerSet) expecting() bool { return s.have+s.connecting > 0 || s.retryAt > 0 }

// lacks reports whether messages wait for which this side has no connection and has requested none. A redial does not
// count, because forged packets can delay redials.
func (s *peerSet) lacks() bool { return s.queued && (s.redial || !s.expecting()) }

// idle reports whether the set has no state that must be kept.
func (s *peerSet) idle() bool { return !s.expecting() && s.accepting == 0 }

// ask returns the parameters of the next request.
func (s *peerSet) ask() ask {
	return ask{version: kib.V2, stamp: s.stamp, depth: s.depth, maxFrags: s.maxFrags, mtu: s.mtu, redial: s.redial}
}

// established takes a connection into use. Connections to another incarnation of the peer end
// (o2iblnd-wire §7.4).
func (s *peerSet) established(stamp uint64, version kib.Version, out *peerOut) {
	out.closeStale = s.have > 0 && (s.stamp != stamp || s.version != version)
	s.stamp, s.version = stamp, version
	s.have++
	s.races, s.lost, s.peerWins, s.redial, s.reconnects, s.retries, s.retryAt, s.vain = 0, 0, false, false, 0, 0, 0, false
	out.up = s.have == 1
	out.withdraw = s.connecting > 0 && s.have >= s.cfg.connsPerPeer
}

// closed handles the end of a connection. After the last one it requests another if messages
// wait.
func (s *peerSet) closed(now time.Duration, err *Error, out *peerOut) {
	if s.have > 0 {
		return
	}
	out.down, out.err = true, err
	s.send(now, out)
}

// failed handles a request of this side that failed and is not repeated. When no other request is under way,
// the waiting messages end with its error (kiblnd_peer_connect_failed). There are two exceptions: a request
// was given up in favor of the peer's, or it was a redial (see stale). Then this side requests a connection
// again if messages wait.
func (s *peerSet) failed(now time.Duration, err *Error, out *peerOut) {
	s.peerWins = s.peerWins || err.Reason == RejectedRace
	if s.expecting() || s.acceptPending(now) {
		return
	}
	redial := s.redial
	if s.again(now, s.peerWins || redial, out) || redial {
		return
	}
	out.failPending, out.down, out.err = true, true, err
}

// acceptFailed handles a request of the peer that has failed. That says nothing about whether the peer
// can be reached, because the request may have been forged, or sent by an earlier incarnation. So this
// side requests a connection for the messages that wait, and lnet is not told.
func (s *peerSet) acceptFailed(now time.Duration, out *peerOut) {
	s.accepting--
	if (s.lacks() || !s.expecting()) && !s.acceptPending(now) {
		s.vain = s.again(now, true, out)
	}
}

// again ends an attempt to get a connection that has failed. If it may be repeated, and messages wait,
// again requests a connection and returns true.
func (s *peerSet) again(now time.Duration, allowed bool, out *peerOut) bool {
	s.peerWins, s.redial = false, false
	if allowed && s.queued {
		s.reconnect(now, out)
		return true
	}
	s.lost, s.reconnects, s.vain = 0, 0, false
	return false
}

// retry repeats the requests whose pause is over.
func (s *peerSet) retry(now time.Duration, out *peerOut) {
	if s.retryAt == 0 || now < s.retryAt {
		return
	}
	out.connect += s.retries
	s.connecting += s.retries
	s.retries, s.retryAt = 0, 0
}
