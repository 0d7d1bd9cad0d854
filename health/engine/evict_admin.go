package engine

import "ulnet/health/wire"

// evictClient takes the word of an administrator. The client's master evicts it. An
// orphan has no living master: the server that is asked evicts it, and others agree
// that hold it as an orphan of the same choice. Without a quorum the client loses its
// connection here, and here only: there is no broadcast and no tombstone.
func (s *Server) evictClient(in *ServerInput) {
	result := ServerEffect{Kind: DoResult, Token: in.Token, Client: in.Client}
	i, ok := s.find(in.Client)
	if !ok {
		result.Code = wire.NotConnected
		s.emit(result)
		return
	}
	c := s.conn(i)
	result.Server, result.Incarnation = s.members.nid(c.master), c.incarnation
	switch {
	case c.state == evicting:
	case c.state == saving:
		result.Code = wire.Busy
	case !s.quorum.have: // nobody else would hear of it, nor agree
		result.Code = wire.NoQuorum
		s.notify(c, wire.NoQuorum)
		s.end(i, wire.ByAdmin, false)
	case c.state == orphaned: // no living master could do it
		s.evict(i, wire.ByAdmin)
		s.evictions.urgent = true
	case c.state != connected && !s.ours(c): // recovering: its master is asked whether it lives
		result.Code = wire.Orphaned
	case !s.ours(c):
		result.Code = wire.OtherMaster
	default:
		s.evict(i, wire.ByAdmin)
		s.evictions.urgent = true
	}
	s.emit(result)
}

// ofOrphan reports whether an eviction is an administrator's of an orphan that this
// server holds as one, too, by the same choice of a master. Any server may make it.
func ofOrphan(e *wire.Entry, c *conn) bool {
	return wire.Cause(e.Mark) == wire.ByAdmin && c.state == orphaned && c.incarnation == e.Incarnation && e.Epoch == c.epoch&(1<<24-1)
}
