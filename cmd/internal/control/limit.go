package control

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"ulnet/cmd/internal/cli"
)

// maxStrangers bounds the connections of processes without access; these get an error as
// answer.
const maxStrangers = 8

// maxRefusals bounds the refused connections that are not closed yet.
const maxRefusals = 64

// admission is a listener that bounds the open connections separately for each level of access,
// so that members of the socket's group cannot lock out root or the daemon's user. When a level
// has no admission slot left, a new connection replaces the one that has been idle for longest;
// if no connection is idle, the new one is refused.
type admission struct {
	net.Listener
	access func(net.Conn) access // returns what the client at the other end may do
	max    [accessWrite + 1]int

	refusals chan struct{} // a token for each refused connection that is not closed yet

	mu    sync.Mutex
	clock uint64                           // counts changes of the state of connections, as a logical clock for admittedConn.idle; guarded by mu, like all below
	open  [accessWrite + 1][]*admittedConn // open connections, by the access of their clients
}

// admit returns l with at most limit open connections of root and the daemon's user,
// and as many of the group.
func admit(l net.Listener, limit int, access func(net.Conn) access) *admission {
	return &admission{Listener: l, access: access, refusals: make(chan struct{}, maxRefusals), max: [...]int{
		accessNone: maxStrangers, accessRead: limit, accessWrite: limit,
	}}
}

// Accept implements net.Listener.
func (a *admission) Accept() (net.Conn, error) {
	for {
		c, err := a.Listener.Accept()
		if err != nil {
			return nil, err
		}
		admitted := &admittedConn{Conn: c, list: a, access: a.access(c)}
		victim, ok := a.add(admitted)
		if victim != nil {
			_ = victim.Close()
		}
		if ok {
			return admitted, nil
		}
		a.refuse(c)
	}
}

// add admits a connection and reports whether it did. It returns the connection to close in
// exchange, or nil.
func (a *admission) add(c *admittedConn) (victim *admittedConn, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := &a.open[c.access]
	if len(*list) >= a.max[c.access] {
		for _, o := range *list {
			if o.idle > 0 && (victim == nil || o.idle < victim.idle) {
				victim = o
			}
		}
		if victim == nil {
			return nil, false
		}
		a.forget(victim)
	}
	a.clock++
	c.idle = a.clock
	*list = append(*list, c)
	return victim, true
}

// forget removes a connection from its list, if it is still there. The caller holds a.mu.
func (a *admission) forget(c *admittedConn) {
	a.open[c.access] = slices.DeleteFunc(a.open[c.access], func(o *admittedConn) bool { return o == c })
}

// state is the http.Server.ConnState hook: it records whether a connection is idle.
func (a *admission) state(c net.Conn, s http.ConnState) {
	admitted, ok := c.(*admittedConn)
	if !ok {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.clock++
	admitted.idle = a.clock
	if s == http.StateActive {
		admitted.idle = 0
	}
}

// admittedConn is a connection that has an admission slot until it is closed.
type admittedConn struct {
	net.Conn
	list   *admission
	access access
	idle   uint64 // value of the clock when the connection became idle; 0: it has a request; guarded by list.mu
}

// Close implements net.Conn.
func (c *admittedConn) Close() error {
	c.list.mu.Lock()
	c.list.forget(c)
	c.list.mu.Unlock()
	return c.Conn.Close()
}

// refuse answers that there are too many connections. The buffer of a Unix socket has room for
// the answer. refuse first waits for the request, because HTTP libraries take an answer before the
// request for an error. It then leaves the connection open until the client closes it: otherwise the
// client's write could fail, and the client would not read the answer. Each of these waits lasts a
// second at most. If maxRefusals connections wait already, refuse answers and closes at once.
func (a *admission) refuse(c net.Conn) {
	select {
	case a.refusals <- struct{}{}:
		go func() {
			_ = c.SetDeadline(time.Now().Add(time.Second)) // cannot fail on Unix sockets
			_, _ = c.Read(make([]byte, 1))
			answerTooMany(c)
			_, _ = io.CopyN(io.Discard, c, maxHeader)
			_ = c.Close()
			<-a.refusals
		}()
	default:
		answerTooMany(c)
		_ = c.Close()
	}
}

// answerTooMany answers that there are too many requests, and ends the answer.
func answerTooMany(c net.Conn) {
	_ = c.SetDeadline(time.Now().Add(time.Second)) // cannot fail on Unix sockets
	body := errorJSON(cli.Hint(errors.New("too many requests at a time"), "end some of them and try again"))
	answer := http.Response{
		StatusCode: http.StatusServiceUnavailable, ProtoMajor: 1, ProtoMinor: 1, Close: true,
		Header:        http.Header{"Content-Type": {"application/json"}},
		ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body)),
	}
	_ = answer.Write(c)
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}
