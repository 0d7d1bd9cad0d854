package o2iblnd

import (
	"math/bits"
	"time"

	"ulnet/lnet/nid"
)

// Two nodes that ask each other at the same time are to get one connection: the request of
// the higher wins (o2iblnd-wire §7.3). That takes one round trip, unless the winner's
// request was lost, or came before the other node listened. The CM repeats it after a
// while only, and so it does not win for ever:
//
//   - The higher refuses the first request, and further ones no longer than freshAttempt
//     after it has asked: the other has had the refusal, and so should have had what was
//     sent before it. Kernels count, and accept the 21st request in a row.
//   - The lower does not ask again at once but after a pause that grows, 21 times in 1.1 s:
//     a kernel whose request was lost is asked often enough before it repeats it, after 4.6 s.
//   - Who accepts has the requests of its own that are not answered withdrawn: the lower
//     at once, the higher when the connection is there. So one of both remains, whatever is
//     on its way. If it does not come about in a second, who waits asks again.
//
// The bounds are local policy, but for maxRaces.
const (
	maxRaces     = 20
	freshAttempt = 10 * time.Millisecond
	racePause    = 2 * time.Millisecond
	pauseDoubles = 5 // times
)

// wins reports whether a request of the peer is refused because our own is to win.
func (s *peerSet) wins(now time.Duration) bool {
	if s.connecting == 0 || higher(s.cfg.peer, s.cfg.self) {
		return false
	}
	return s.races == 0 || s.races < maxRaces && now < s.askedAt+freshAttempt
}

// needless reports whether an attempt that is not on its way yet can be left.
func (s *peerSet) needless(now time.Duration) bool {
	return s.hoping(now) || s.have >= s.cfg.connsPerPeer
}

// askLater repeats an attempt that has lost against the peer's, whose request is to come.
func (s *peerSet) askLater(now time.Duration) {
	s.retries++
	if s.retryAt > 0 {
		return // another one of the same round
	}
	pause := racePause << min(s.lost, pauseDoubles)
	if s.lost > maxRaces {
		pause = reconnectPause
	}
	s.lost++
	s.retryAt = now + pause
}

// higher reports whether the requests of a win against those of b: nodes since Lustre
// 2.16 compare the words of the NIDs as they lie in memory (o2iblnd-wire §7.3).
func higher(a, b nid.NID) bool { return raceKey(a) > raceKey(b) }

func raceKey(n nid.NID) uint32 {
	v := n.Value4()
	return uint32(v>>32) ^ bits.ReverseBytes32(uint32(v))
}
