package engine

import "ulnet/health/wire"

// disconnect ends a connection that the client has left, here or everywhere. The client
// is answered that this life is not connected here, also when it was not: its
// Disconnect may be a repeat. One whose record is being saved, or that is being evicted,
// is not answered: it says so again.
func (s *Server) disconnect(q *asked) {
	i, c, code := s.lookup(q)
	switch {
	case code == wire.OK && q.m.Sequence != 0 && q.m.Sequence < c.sequence:
		s.stats.Late++ // it has connected since
		return
	case code == wire.OK:
		s.end(i, wire.Left, q.m.Code == wire.OK)
	default:
		s.stats.Late++
	}
	if q.m.Sequence != 0 && code != wire.Busy {
		s.send(q.from, &wire.Message{Kind: wire.Reject, Code: wire.NotConnected, Client: q.m.Client, Incarnation: q.m.Incarnation, Sequence: q.m.Sequence})
	}
}
