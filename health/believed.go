package health

import (
	"math"
	"time"
)

// lifeMargin is by how much the number of a client's life may be ahead of the
// time, local policy: clocks are wrong by hours, or years behind.
const lifeMargin = 366 * 24 * time.Hour

// believed is the highest number that a life of a client may have now. Numbers of
// lives are wall clocks in nanoseconds, or one more than the number before
// (CH-A1), and so is that of this server: with the time since its start it is the
// wall clock, without trusting one that was put back. A number far beyond would
// burn the id: no later life could be above it. One within the margin is soon
// passed, since a client that is told of it takes one more.
func (s *Server) believed(id ClientID) uint64 {
	highest := s.cfg.Incarnation + uint64(s.now-s.began)
	if i, ok := s.find(id); ok {
		highest = max(highest, s.conn(i).incarnation)
	}
	if life, ok := s.tombstones.covers(id, 0); ok {
		highest = max(highest, life)
	}
	if highest > math.MaxUint64-uint64(lifeMargin) {
		return math.MaxUint64
	}
	return highest + uint64(lifeMargin)
}
