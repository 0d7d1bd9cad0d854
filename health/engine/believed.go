package engine

import (
	"math"
	"time"

	"ulnet/health/wire"
)

// incarnationMargin is how far the number of a client's incarnation may be ahead of the wall clock (a
// rule of this implementation). A year refuses hardly any healthy client: a clock that is wrong by
// years is usually behind, and a clock that is ahead is usually wrong by hours.
const incarnationMargin = 366 * 24 * time.Hour

// incarnationStep is how far the number of a client's incarnation may exceed the highest number
// that this server knows of that client. A client that was told of a later incarnation takes the
// number after it, which servers must accept. The step is small because an attacker can send
// many messages, each one step higher: with large steps, the number would soon be years ahead of
// the clock.
const incarnationStep = 1024

// believed returns the highest incarnation number that a client's message may carry now. The
// number of a client's incarnation is the time of the wall clock in nanoseconds, or one more
// than the number before (CH-A1). This server's own incarnation is numbered in the same way, so
// its number plus the time since its start is a wall clock that never goes back. A number far
// beyond the clock would make the client's id unusable, since no later incarnation could exceed
// it. A number within the margin is harmless: a client that is told of it takes the next one,
// which the clock reaches soon.
func (s *Server) believed(id wire.ClientID) uint64 {
	wall, known := s.cfg.Incarnation+uint64(s.now-s.began), s.incarnation(id)
	if incarnation, ok := s.tombstones.covers(id, 0); ok {
		known = max(known, incarnation)
	}
	return max(sum(wall, uint64(incarnationMargin)), sum(known, incarnationStep))
}

// sum returns a + b, or the highest number if the sum would overflow.
func sum(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}
