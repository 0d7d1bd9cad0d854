package o2iblnd

import (
	"math/bits"
	"time"

	"ulnet/lnet/nid"
)

// Two nodes that connect to each other at the same time should get one connection: the
// request of the node with the higher NID wins (o2iblnd-wire §7.3). That takes one round
// trip, unless the winner's request was lost, or came before the other node listened. The CM
// repeats a request late, so the higher node must not refuse for ever:
//
//   - The higher node refuses the first request of the lower one, and further ones within
//     freshAttempt of its own. A lower node that repeats its request has received the
//     refusal, and so should have received the earlier request of the higher node. Kernels
//     count instead, and accept the 21st request in a row.
//   - The lower node repeats its request after a pause that grows, 21 times in 1.1 s. A
//     kernel whose own request was lost accepts the 21st; it would repeat its own after 4.6 s.
//   - A node that accepts withdraws its own unanswered requests: the lower node at once, the
//     higher one when the connection is established. So one of the two connections remains.
//     If none is established within a second, a node with waiting messages requests one
//     again.
//
// The bounds are local policy, but for maxRaces.
const (
	maxRaces     = 20
	freshAttempt = 10 * time.Millisecond
	racePause    = 2 * time.Millisecond
	pauseDoubles = 5 // how often the pause doubles
)

// wins reports whether to refuse a request of the peer because this side's own wins.
func (s *peerSet) wins(now time.Duration) bool {
	if s.connecting == 0 || higher(s.cfg.peer, s.cfg.self) {
		return false
	}
	return s.races == 0 || s.races < maxRaces && now < s.askedAt+freshAttempt
}

// needless reports whether a request that was not sent yet is no longer needed: a request of the peer is about to
// become a connection, or there are enough connections.
func (s *peerSet) needless(now time.Duration) bool {
	return s.acceptPending(now) || s.have >= s.cfg.connsPerPeer
}

// askLater repeats, after a pause, a request that lost against the peer's.
func (s *peerSet) askLater(now time.Duration) {
	s.retries++
	if s.retryAt > 0 {
		return // another request that lost at the same time has set retryAt already
	}
	pause := racePause << min(s.lost, pauseDoubles)
	if s.lost > maxRaces {
		pause = reconnectPause
	}
	s.lost++
	s.retryAt = now + pause
}

// higher reports whether the requests of NID a win against those of NID b. Nodes since Lustre 2.16
// compare the words of the NIDs as they lie in memory (o2iblnd-wire §7.3).
func higher(a, b nid.NID) bool { return raceKey(a) > raceKey(b) }

func raceKey(n nid.NID) uint32 {
	v := n.Value4()
	return uint32(v>>32) ^ bits.ReverseBytes32(uint32(v))
}
