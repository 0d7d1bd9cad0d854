package health

// disconnect ends a connection that the client has left, here or everywhere. The client
// is answered that this life is not connected here, also when it was not: its
// Disconnect may be a repeat. One whose record is being saved, or that is being evicted,
// is not answered: it says so again.
func (s *Server) disconnect(q *asked) {
	i, c, code := s.lookup(q)
	switch {
	case code == OK && q.m.Sequence != 0 && q.m.Sequence < c.sequence:
		s.stats.Late++ // it has connected since
		return
	case code == OK:
		s.end(i, Left, q.m.Code == OK)
	default:
		s.stats.Late++
	}
	if q.m.Sequence != 0 && code != Busy {
		s.send(q.from, &Message{Kind: Reject, Code: NotConnected, Client: q.m.Client, Incarnation: q.m.Incarnation, Sequence: q.m.Sequence})
	}
}
