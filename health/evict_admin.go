package health

// evictClient takes the word of an administrator. The client's master evicts it. An
// orphan has no living master: the server that is asked evicts it, and others agree
// that hold it as an orphan of the same choice. Without a quorum the client loses its
// connection here, and here only: there is no broadcast and no tombstone.
func (s *Server) evictClient(in *ServerInput) {
	result := ServerEffect{Kind: DoResult, Token: in.Token, Client: in.Client}
	i, ok := s.find(in.Client)
	if !ok {
		result.Code = NotConnected
		s.emit(result)
		return
	}
	c := s.conn(i)
	result.Server, result.Incarnation = s.members.nid(c.master), c.incarnation
	switch {
	case c.state == evicting:
	case c.state == saving:
		result.Code = Busy
	case !s.quorum.have: // nobody else would hear of it, nor agree
		result.Code = NoQuorum
		s.notify(c, NoQuorum)
		s.end(i, ByAdmin, false)
	case c.state == orphaned: // no living master could do it
		s.evict(i, ByAdmin)
		s.evictions.urgent = true
	case c.state != connected && !s.ours(c): // recovering: its master is asked whether it lives
		result.Code = Orphaned
	case !s.ours(c):
		result.Code = OtherMaster
	default:
		s.evict(i, ByAdmin)
		s.evictions.urgent = true
	}
	s.emit(result)
}

// ofOrphan reports whether an eviction is an administrator's of an orphan that this
// server holds as one, too, by the same choice of a master. Any server may make it.
func (e *Entry) ofOrphan(c *conn) bool {
	return Cause(e.Mark) == ByAdmin && c.state == orphaned && c.incarnation == e.Incarnation && e.Epoch == c.epoch&(1<<24-1)
}
