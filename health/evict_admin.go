package health

// evictClient takes the word of an administrator.
func (s *Server) evictClient(in *ServerInput) {
	result := ServerEffect{Kind: DoResult, Token: in.Token, Client: in.Client}
	i, ok := s.find(in.Client)
	if !ok {
		result.Code = NotConnected
		s.emit(result)
		return
	}
	c := s.conn(i)
	result.Server = s.members.nid(c.master)
	switch {
	case c.state == evicting:
	case c.state == saving:
		result.Code = Busy
	case c.state != connected && !s.ours(c):
		result.Code = Orphaned
	case !s.ours(c):
		result.Code = OtherMaster
	default:
		s.evict(i, ByAdmin)
		s.evictions.urgent = true
	}
	s.emit(result)
}
