package control

import (
	"context"
	"io"
	"net"
	"time"
)

// The tests of this package are in an external test package, because they import the operations
// of package node, which imports this package. The functions in this file give the tests access
// to internal functions.

type Access = access

const (
	AccessNone   = accessNone
	AccessRead   = accessRead
	AccessWrite  = accessWrite
	MaxRequest   = maxRequest
	EventBacklog = eventBacklog
)

// AccessOf returns what a user may do at a socket.
func AccessOf(owner, group, uid uint32, groups []uint32) Access {
	return policy{owner: owner, group: group}.of(credentials{uid: uid, groups: groups})
}

func PeerCredentials(c *net.UnixConn) (uid uint32, groups []uint32, err error) {
	found, err := peerCredentials(c)
	return found.uid, found.groups, err
}

func (s *Server) SetAccess(of func(net.Conn) Access) { s.access = of }

func (c *Client) SetBounds(patience time.Duration, most int64) { c.patience, c.most = patience, most }

// SetWatch sets the interval of the questions by which the client notices a daemon that does not answer.
func (c *Client) SetWatch(interval time.Duration) { c.watch = interval }

func (c *Client) DecodeAnswer(raw []byte, answer any) error { return c.decodeAnswer(raw, answer) }

func (c *Client) Decode(ctx context.Context, body io.ReadCloser, answer any) error {
	return c.decode(ctx, body, nil, answer)
}

func ReadFrames[S Step[S]](body io.Reader, report func(S) error) error {
	return readFrames(body, report)
}

type Listener = listener

func (e *Events) Listen() *Listener          { return e.listen() }
func (e *Events) TakeMissed(l *Listener) int { return e.takeMissed(l) }

func (l *Listener) Lines() <-chan []byte { return l.lines }
func (e *Events) Leave(l *Listener)      { e.leave(l) }
