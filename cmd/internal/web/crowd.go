package web

import (
	"net"
	"net/http"
	"slices"
	"sync"
)

// crowd is a listener that bounds the open connections: a new one above the bound replaces
// another. So clients that connect and then send or read nothing cannot keep others out.
type crowd struct {
	net.Listener
	limit int

	mu   sync.Mutex
	open []*member // open connections in the order in which they became busy or quiet; guarded by mu
}

func newCrowd(l net.Listener, limit int) *crowd { return &crowd{Listener: l, limit: limit} }

// Accept implements net.Listener.
func (c *crowd) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	m := &member{Conn: conn, crowd: c}
	if leaves := c.add(m); leaves != nil {
		_ = leaves.Close()
	}
	return m, nil
}

// add adds a connection and returns the one to close in exchange, or nil.
func (c *crowd) add(m *member) (leaves *member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.open) >= c.limit {
		leaves = c.leaving()
	}
	c.open = append(c.open, m)
	return leaves
}

// leaving returns the connection that has been quiet for longest. If more than half are busy, it
// returns the one that has been busy for longest: otherwise clients that do not read their answers
// could leave so few places that a new connection is closed before its request comes. The caller
// holds mu.
func (c *crowd) leaving() *member {
	busy := 0
	for _, m := range c.open {
		if m.busy {
			busy++
		}
	}
	crowded := 2*busy > len(c.open)
	return c.open[slices.IndexFunc(c.open, func(m *member) bool { return m.busy == crowded })]
}

// note notes the state of a connection; it is an http.Server's ConnState.
func (c *crowd) note(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.open, func(m *member) bool { return m == conn })
	if i < 0 {
		return // the connection was closed, and is not in the list any more
	}
	m := c.open[i]
	m.busy = state == http.StateActive
	c.open = append(slices.Delete(c.open, i, i+1), m)
}

// member is a connection of a crowd until it is closed.
type member struct {
	net.Conn
	crowd *crowd
	busy  bool // a request arrives or is being answered; guarded by the mu of the crowd
}

// Close implements net.Conn.
func (m *member) Close() error {
	c := m.crowd
	c.mu.Lock()
	c.open = slices.DeleteFunc(c.open, func(o *member) bool { return o == m })
	c.mu.Unlock()
	return m.Conn.Close()
}
