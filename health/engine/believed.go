package engine

import (
	"math"
	"time"

	"ulnet/health/wire"
)

// incarnationMargin is by how much the number of a client's incarnation may be ahead of the
// time, local policy: clocks are wrong by hours, or years behind.
const incarnationMargin = 366 * 24 * time.Hour

// incarnationStep is by how much it may be ahead of a number that this server knows: a client
// that is told of that takes the next. It is small: otherwise an attacker could
// push it a year further with each incarnation.
const incarnationStep = 1024

// believed is the highest number that an incarnation of a client may have now. Numbers of
// lives are wall clocks in nanoseconds, or one more than the number before
// (CH-A1), and so is that of this server: with the time since its start it is the
// wall clock, without trusting one that was put back. A number far beyond would
// burn the id: no later incarnation could be above it. One within the margin is soon
// passed, since a client that is told of it takes one more.
func (s *Server) believed(id wire.ClientID) uint64 {
	wall, known := s.cfg.Incarnation+uint64(s.now-s.began), uint64(0)
	if i, ok := s.find(id); ok {
		known = s.conn(i).incarnation
	}
	if incarnation, ok := s.tombstones.covers(id, 0); ok {
		known = max(known, incarnation)
	}
	return max(sum(wall, uint64(incarnationMargin)), sum(known, incarnationStep))
}

// sum adds numbers of lives, of which there is a last one.
func sum(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}
