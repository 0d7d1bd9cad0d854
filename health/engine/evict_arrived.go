package engine

import (
	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

// evictArrived applies a batch of evictions of another server (CH-11 to CH-13; CH-A7), and answers it.
func (s *Server) evictArrived(in *ServerInput) {
	var reply wire.Reply
	from, ok := s.members.find(in.Server)
	r, err := wire.ParseBatch(in.Data)
	switch {
	case err != nil:
		s.malformed(err)
	case !ok:
		s.stats.Strangers++
	case from == s.members.self:
	case r.Withdraw:
		for k := range r.Entries.Len() {
			s.withdrawn(from, r.Entries.At(k))
		}
	default:
		for k := range r.Entries.Len() {
			s.evictFor(from, r.Entries.At(k), uint16(k), &reply)
		}
	}
	begin := len(s.out.Buf)
	s.out.Buf = reply.AppendTo(s.out.Buf)
	s.emit(ServerEffect{Kind: DoAnswer, Token: in.Token, Begin: begin, End: len(s.out.Buf)})
}

func (s *Server) evictFor(from int32, e wire.Entry, index uint16, reply *wire.Reply) {
	i, ok := s.find(e.Client)
	if e.Incarnation > s.believed(e.Client) { // a tombstone with such a high number would refuse all later incarnations
		s.stats.Ahead++
		if !ok {
			reply.Unknown++
			return
		}
		e.Incarnation = s.conn(i).incarnation
	}
	if !ok {
		if reply.Unknown++; s.takenBack(&e, from) {
			return
		}
		s.heardOf(&e, from, func(bury bool) { s.forget(e.Client, e.Incarnation, e.Epoch, bury, nid.NID{}) })
		return
	}
	c := s.conn(i)
	x := wire.Exception{Index: index, Epoch: c.epoch, Incarnation: c.incarnation, Master: s.members.nid(c.master)}
	switch {
	case c.incarnation > e.Incarnation:
		x.Code = wire.Newer
	case c.incarnation < e.Incarnation && c.master != from && !s.takenBack(&e, from):
		reply.Unknown++
		s.buryLater(&e, from, c)
		return
	case farAhead(&e, c):
		reply.Unknown++
		return
	case s.checks(i, &e, from):
		x.Code = wire.OtherMaster
	case c.master != from && !ofOrphan(&e, c) && !chosenAfter(&e, c), c.incarnation == e.Incarnation && e.Before(c.epoch), s.takenBack(&e, from): // the client has another master, or the eviction is for an earlier choice of a master, or it was withdrawn
		if x.Code = wire.OtherMaster; c.incarnation == e.Incarnation && (c.state == evicting || s.ours(c) && e.Epoch != 0) && !s.takenBack(&e, from) {
			s.evictions.alsoEvicts(&e, from, s.now+s.cfg.tombstone())
		}
	default:
		reply.Evicted++
		s.obey(i, &e, from)
		return
	}
	s.stats.Excepted++
	reply.Exceptions = append(reply.Exceptions, x)
}

// obey ends a connection because another server evicts the client.
func (s *Server) obey(i int32, e *wire.Entry, from int32) {
	switch c := s.conn(i); {
	case c.state == saving:
		s.reject(s.question(c), wire.Message{Code: wire.Global})
	case wire.Cause(e.Mark) == wire.Rebooted:
		s.superseded(c, e.Incarnation+1, nid.NID{})
	default:
		s.notify(c, wire.Global)
	}
	s.heardOf(e, from, func(bury bool) {
		s.finally(i, e.Incarnation, e.Epoch, wire.Cause(min(e.Mark, uint8(wire.Causes)-1)), bury)
	})
	s.waiting.resume(s, e.Client) // if this server was evicting the client itself, a connect may wait for the end of that
}

// chosenAfter reports whether the evicting master is one that the client chose after the master
// that this server knows. The result is false for an eviction by an administrator, which any
// server may make.
func chosenAfter(e *wire.Entry, c *conn) bool {
	known := wire.Entry{Epoch: c.epoch & (1<<24 - 1)}
	return wire.Cause(e.Mark) != wire.ByAdmin && e.Epoch != 0 && c.incarnation == e.Incarnation && known.Before(e.Epoch)
}

// buryLater adds the tombstone of an incarnation that its master has evicted and that is not
// connected here. The connected incarnation, which is an earlier one, stays until its own master
// evicts it.
func (s *Server) buryLater(e *wire.Entry, from int32, c *conn) {
	s.heardOf(e, from, func(bury bool) {
		if bury {
			s.forget(e.Client, e.Incarnation, e.Epoch, true, nid.NID{})
			s.save(0, c) // forget has also removed the record of the connected incarnation: save the record again
		}
	})
}
