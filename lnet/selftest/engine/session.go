package engine

import (
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/wire"
)

type deadline = machine.Deadline[func()]

// after calls f after the time wait; if wait is negative, f is never called.
func (n *Node) after(d *deadline, wait time.Duration, f func()) {
	if wait >= 0 {
		d.Of = f
		n.deadlines.Set(d, n.now+wait)
	}
}

// session is the session of a console that this node takes part in.
type session struct {
	id         wire.Session
	maker      nid.ProcessID // the node that has made the session here: its console
	name       string
	features   wire.Features
	references int // number of MAKE_SESSION requests minus number of REMOVE_SESSION requests; at 0 the session ends
	began      time.Duration
	due        deadline // when the session ends, if no request of a console arrives before
	batches    []*batch
	units      int // number of units of all tests
	tests      int
	brwErrors  uint32
	pingErrors uint32
}

// restart begins the time-out of the session anew. Each request of a console does so, even one that is
// refused.
func (n *Node) restart() {
	if s := n.session; s != nil {
		n.after(&s.due, n.cfg.SessionTimeout, func() {
			n.stats.TimedOut++
			n.end()
		})
	}
}

// handle handles a request whose turn it is.
func (n *Node) handle(q *request) {
	makes := q.Type == wire.TypeMakeSession || q.Type == wire.TypeDebug
	if !makes && n.session != nil && q.Features != n.session.features || makes && q.Features&^wire.KnownFeatures != 0 {
		reply := wire.Message{Header: wire.Header{Features: wire.KnownFeatures}, Status: wire.EPROTO, Body: emptySessionReply(q.Type, n.sessionID())}
		n.answer(q, reply)
		return
	}
	switch b := q.Body.(type) {
	case *wire.MakeSession:
		n.makeSession(q, b)
	case *wire.RemoveSession:
		n.removeSession(q, b)
	case *wire.Debug:
		n.debug(q)
	case *wire.Stat:
		n.stat(q, b)
	case *wire.Batch:
		n.batch(q, b)
	case *wire.Test:
		n.test(q, b)
	case *wire.Join: // only a console has a session to join, and this node has none
		n.reply(q, wire.ESRCH, &wire.JoinReply{Session: wire.NoSession()})
	}
}

// emptySessionReply returns the reply to a request of a console in which only the session is set.
func emptySessionReply(t wire.Type, s wire.Session) wire.Body {
	switch t {
	case wire.TypeMakeSession:
		return &wire.MakeSessionReply{Session: s}
	case wire.TypeRemoveSession:
		return &wire.RemoveSessionReply{Session: s}
	case wire.TypeBatch:
		return &wire.BatchReply{Session: s}
	case wire.TypeTest:
		return &wire.TestReply{Session: s}
	case wire.TypeStat:
		return &wire.StatReply{Session: s}
	case wire.TypeDebug:
		return &wire.DebugReply{Session: s}
	}
	return &wire.JoinReply{Session: s}
}

// reply answers a request of a console. The reply has the features of the session that the node has now.
func (n *Node) reply(q *request, status wire.Status, body wire.Body) {
	features := wire.KnownFeatures
	if n.session != nil {
		features = n.session.features
	}
	n.answer(q, wire.Message{Header: wire.Header{Features: features}, Status: status, Body: body})
}

// refuse answers with a status and the id of the session that the node has.
func (n *Node) refuse(q *request, status wire.Status) {
	n.reply(q, status, emptySessionReply(q.Type, n.sessionID()))
}

// sessionID returns the id of the session, or NoSession.
func (n *Node) sessionID() wire.Session {
	if n.session == nil {
		return wire.NoSession()
	}
	return n.session.id
}

// timeout returns the time-out of sessions in seconds, rounded up, as replies have it; 0: without
// end.
func (n *Node) timeout() uint32 {
	return uint32((max(n.cfg.SessionTimeout, 0) + time.Second - 1) / time.Second)
}

func (n *Node) makeSession(q *request, b *wire.MakeSession) {
	s := n.session
	switch {
	case b.Session.Console.IsAny():
		n.refuse(q, wire.EINVAL)
		return
	case s != nil && s.id == b.Session:
		s.references++
	case s != nil && !b.Force:
		n.reply(q, wire.EBUSY, &wire.MakeSessionReply{Session: s.id, Timeout: n.timeout(), Name: s.name})
		return
	default:
		n.end()
		n.session = &session{id: b.Session, maker: q.peer, name: b.Name, features: q.Features, references: 1, began: n.now}
		n.restart()
	}
	n.reply(q, wire.OK, &wire.MakeSessionReply{Session: n.session.id, Timeout: n.timeout()})
}

func (n *Node) removeSession(q *request, b *wire.RemoveSession) {
	switch s := n.session; {
	case b.Session.Console.IsAny():
		n.refuse(q, wire.EINVAL)
	case s == nil:
		n.refuse(q, wire.ESRCH)
	case s.id != b.Session:
		n.refuse(q, wire.EBUSY)
	default:
		if s.references--; s.references == 0 {
			n.end()
		}
		n.refuse(q, wire.OK)
	}
}

// end ends the session, if there is one, and aborts its tests.
func (n *Node) end() {
	s := n.session
	if s == nil {
		return
	}
	n.session = nil
	n.deadlines.Clear(&s.due)
	n.cancelFetch()
	for _, b := range s.batches {
		n.stop(b, true)
	}
}

func (n *Node) debug(q *request) {
	if n.session == nil {
		n.refuse(q, wire.ESRCH)
		return
	}
	n.reply(q, wire.OK, &wire.DebugReply{Session: n.session.id, Timeout: n.timeout(), Name: n.session.name})
}

// stat sends the counters of the node.
func (n *Node) stat(q *request, b *wire.Stat) {
	s := n.session
	switch {
	case b.Session.Console.IsAny():
		n.refuse(q, wire.EINVAL)
		return
	case s == nil || s.id != b.Session:
		n.refuse(q, wire.ESRCH)
		return
	}
	active := 0
	for _, b := range s.batches {
		if b.active() > 0 {
			active++
		}
	}
	n.reply(q, wire.OK, &wire.StatReply{
		Session: s.id, // Zombies stays 0: the RPCs of a session end with it
		Framework: wire.FrameworkStats{
			Running: uint32((n.now - s.began) / time.Millisecond), Batches: uint32(active), BRWErrors: s.brwErrors, PingErrors: s.pingErrors,
		},
		RPC:  n.stats.RPCStats,
		LNet: q.lnet,
	})
}
