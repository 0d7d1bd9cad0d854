package engine

import (
	"strings"
	"syscall"
	"time"

	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/wire"
)

// joinTimeout is how long the node waits for the reply of a console that it wants to join.
const joinTimeout = 30 * time.Second

// Joined is how a Join has ended.
type Joined struct {
	Errno    syscall.Errno // 0: the node is in the session; else why it is not
	Refused  bool          // Errno is the status of the console's reply
	Session  wire.Session  // the session that the console named
	Name     string        // name of the session
	Features wire.Features // features of the session
}

// joining is the RPC by which the node asks a console for membership of its session. A Join ends
// when this RPC ends.
type joining struct {
	command  uint64 // number of the Join
	id       uint64 // number of the RPC
	in       Input
	features wire.Features
	again    bool // the console has refused the features of this node, so that the request was sent again with those of the console
	due      deadline
}

// join begins to join the session of a console (selftest §10). A node in a session does not ask: it
// could not take part in another one.
func (n *Node) join(in *Input) {
	errno := syscall.Errno(0)
	switch {
	case n.joining != nil || n.session != nil:
		errno = syscall.EBUSY
	case !in.Peer.NID.IsValid() || in.Peer.NID.IsAny() || in.Group == "" || len(in.Group) > wire.MaxName || strings.IndexByte(in.Group, 0) >= 0:
		errno = syscall.EINVAL
	// Without a PID the match entry for the answer would match any process, and such an entry can keep
	// entries for one process off a portal.
	case in.Peer.PID == 0 || in.Peer.PID == nid.PIDAny:
		errno = syscall.EINVAL
	case !in.Peer.NID.Is4():
		errno = syscall.EAFNOSUPPORT
	case !n.cfg.Allow(in.Peer.NID):
		n.stats.NotAllowed++
		errno = syscall.EPERM
	}
	if errno != 0 {
		n.do(Effect{Kind: DoAnswer, ID: in.ID, Joined: Joined{Errno: errno, Session: n.sessionID()}})
		return
	}
	n.joining = &joining{command: in.ID, in: *in, features: wire.KnownFeatures}
	n.askToJoin()
}

// askToJoin sends the request.
func (n *Node) askToJoin() {
	j := n.joining
	j.id = n.nextID()
	m := wire.Message{Header: wire.Header{Features: j.features}, ReplyID: j.id, Body: &wire.Join{Session: wire.NoSession(), Group: j.in.Group}}
	data, _ := m.AppendBinary(make([]byte, 0, wire.MessageSize)) // cannot fail: join has checked the name of the group
	n.stats.Sent++
	n.after(&j.due, joinTimeout, func() {
		n.stats.Expired++
		n.do(Effect{Kind: DoCancel, ID: j.id})
		n.endJoin(Joined{Errno: syscall.ETIMEDOUT})
	})
	n.do(Effect{Kind: DoCall, ID: j.id, Peer: j.in.Peer, Service: wire.JoinService, Data: data})
}

// cancelJoin gives up a Join.
func (n *Node) cancelJoin(command uint64) {
	if j := n.joining; j != nil && j.command == command {
		n.do(Effect{Kind: DoCancel, ID: j.id})
		n.endJoin(Joined{Errno: syscall.EINTR})
	}
}

func (n *Node) endJoin(end Joined) {
	j := n.joining
	n.joining = nil
	n.deadlines.Clear(&j.due)
	if !end.Session.Console.IsValid() {
		end.Session = wire.NoSession()
	}
	n.do(Effect{Kind: DoAnswer, ID: j.command, Joined: end})
}

// progressJoin handles an input about the RPC: its request cannot be sent, or its reply has arrived.
func (n *Node) progressJoin(in *Input) {
	j := n.joining
	switch {
	case in.Failed:
		n.stats.Errors++
		n.do(Effect{Kind: DoCancel, ID: j.id})
		n.endJoin(Joined{Errno: syscall.EHOSTUNREACH})
	case in.Kind == Replied:
		n.do(Effect{Kind: DoFree, ID: j.id})
		m, err := wire.ParseMessage(in.Data)
		if b, ok := m.Body.(*wire.JoinReply); err == nil && ok {
			n.joined(&m, b)
			return
		}
		n.endJoin(Joined{Errno: syscall.EBADMSG})
	}
}

// joined takes the reply of the console. With a status of 0 the node makes the session as if a
// MAKE_SESSION request for it had arrived.
func (n *Node) joined(m *wire.Message, b *wire.JoinReply) {
	j, s := n.joining, n.session
	end := Joined{Session: b.Session, Name: b.Name, Features: m.Features}
	switch {
	case m.Status == wire.EPROTO && !j.again && m.Features != j.features && m.Features&^wire.KnownFeatures == 0:
		j.again, j.features = true, m.Features
		n.askToJoin()
		return
	case m.Status != wire.OK:
		end.Errno, end.Refused = syscall.Errno(m.Status), true
	case b.Session.Console.IsAny():
		end.Errno = syscall.EBADMSG
	case s != nil && s.id != b.Session: // the node has got another session meanwhile; the console that has admitted it sees from later replies that it is busy
		end.Errno, end.Session = syscall.EBUSY, s.id
	case s != nil:
		s.references++
	default:
		n.session = &session{id: b.Session, maker: j.in.Peer, name: b.Name, features: m.Features, references: 1, began: n.now}
		n.restart()
	}
	n.endJoin(end)
}
