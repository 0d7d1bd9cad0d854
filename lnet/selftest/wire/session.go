package wire

import (
	"fmt"

	"ulnet/lnet/nid"
)

// Session is the id of a session. Nodes only compare it.
//
//	off  size  field
//	  0   8    console  its nid4
//	  8   8    stamp
type Session struct {
	Console nid.NID // NID of the console
	Stamp   int64   // milliseconds since the boot of the console when the session was created
}

// NoSession returns the id that stands for no session or for any: all bits are set.
func NoSession() Session { return Session{nid.Any(), -1} }

// String returns the stamp and the NID, as 598523@10.77.0.10@tcp, or "none".
func (s Session) String() string {
	if s == NoSession() {
		return "none"
	}
	return fmt.Sprintf("%d@%v", s.Stamp, s.Console)
}

// MakeSession is the request to join a session, which a console sends to each of its nodes.
//
//	off  size  field
//	 24   8    reply id
//	 32  16    session
//	 48   4    force
//	 52  32    name
type MakeSession struct {
	Session Session // the session to join
	Force   bool    // the node gives up another session that it has
	Name    string  // name of the session
}

// MakeSessionReply is the reply to MakeSession.
//
//	off  size  field
//	 24   4    status
//	 28  16    session
//	 44   4    timeout
//	 48  32    name
type MakeSessionReply struct {
	Session Session // the session that the node has now
	Timeout uint32  // seconds without a request after which the node gives up its session
	Name    string  // with EBUSY: name of the session that the node has
}

// RemoveSession is the request to leave a session.
//
//	off  size  field
//	 24   8    reply id
//	 32  16    session
type RemoveSession struct {
	Session Session // the session to leave
}

// RemoveSessionReply is the reply to RemoveSession.
//
//	off  size  field
//	 24   4    status
//	 28  16    session
type RemoveSessionReply struct {
	Session Session // the session that the node has now, NoSession if none
}

// Debug is the request for the session that a node has, by which a console finds out whether
// the node is there.
//
//	off  size  field
//	 24   8    reply id
//	 32  16    session
//	 48   4    flags
type Debug struct {
	Session Session // session of the sender; nodes do not compare it
	Flags   uint32  // 0
}

// DebugReply is the reply to Debug.
//
//	off  size  field
//	 24   4    status
//	 28  16    session
//	 44   4    timeout
//	 48   4    batches
//	 52  32    name
type DebugReply struct {
	Session Session // the session that the node has, NoSession if none
	Timeout uint32  // seconds, as in MakeSessionReply
	Batches uint32  // number of batches; kernel nodes do not set it
	Name    string  // name of the session
}

// Join is the request of a node to become a member of a console's session.
//
//	off  size  field
//	 24   8    reply id
//	 32  16    session
//	 48  32    group
type Join struct {
	Session Session // the session to join; NoSession: any
	Group   string  // group of the console that the node joins
}

// JoinReply is the reply to Join.
//
//	off  size  field
//	 24   4    status
//	 28  16    session
//	 44   4    timeout
//	 48  32    name
type JoinReply struct {
	Session Session // the session that the node has joined
	Timeout uint32  // seconds, as in MakeSessionReply
	Name    string  // name of the session
}

// Type implements Body.
func (*MakeSession) Type() Type { return TypeMakeSession }

// Type implements Body.
func (*MakeSessionReply) Type() Type { return TypeMakeSession.Reply() }

// Type implements Body.
func (*RemoveSession) Type() Type { return TypeRemoveSession }

// Type implements Body.
func (*RemoveSessionReply) Type() Type { return TypeRemoveSession.Reply() }

// Type implements Body.
func (*Debug) Type() Type { return TypeDebug }

// Type implements Body.
func (*DebugReply) Type() Type { return TypeDebug.Reply() }

// Type implements Body.
func (*Join) Type() Type { return TypeJoin }

// Type implements Body.
func (*JoinReply) Type() Type { return TypeJoin.Reply() }

func (m *MakeSession) fields(c *cursor, _ *Header) {
	c.session(&m.Session)
	flag32(c, &m.Force)
	c.name(&m.Name)
}

func (m *MakeSessionReply) fields(c *cursor, _ *Header) {
	c.session(&m.Session)
	field32(c, &m.Timeout)
	c.name(&m.Name)
}

func (m *RemoveSession) fields(c *cursor, _ *Header) { c.session(&m.Session) }

func (m *RemoveSessionReply) fields(c *cursor, _ *Header) { c.session(&m.Session) }

func (m *Debug) fields(c *cursor, _ *Header) {
	c.session(&m.Session)
	field32(c, &m.Flags)
}

func (m *DebugReply) fields(c *cursor, _ *Header) {
	c.session(&m.Session)
	field32(c, &m.Timeout)
	field32(c, &m.Batches)
	c.name(&m.Name)
}

func (m *Join) fields(c *cursor, _ *Header) {
	c.session(&m.Session)
	c.name(&m.Group)
}

func (m *JoinReply) fields(c *cursor, _ *Header) {
	c.session(&m.Session)
	field32(c, &m.Timeout)
	c.name(&m.Name)
}
