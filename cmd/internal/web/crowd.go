package web

import (
	"net"
	"slices"
	"sync"
)

// crowd is a listener that bounds the open connections: a new one above the bound replaces the
// oldest. So clients that connect and then send or read nothing cannot keep others out.
type crowd struct {
	net.Listener
	limit int

	mu   sync.Mutex
	open []*member // open connections, the oldest first; guarded by mu
}

func newCrowd(l net.Listener, limit int) *crowd { return &crowd{Listener: l, limit: limit} }

// Accept implements net.Listener.
func (c *crowd) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	m := &member{Conn: conn, crowd: c}
	if oldest := c.add(m); oldest != nil {
		_ = oldest.Close()
	}
	return m, nil
}

// add adds a connection and returns the one to close in exchange, or nil.
func (c *crowd) add(m *member) (oldest *member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.open) >= c.limit {
		oldest = c.open[0]
	}
	c.open = append(c.open, m)
	return oldest
}

// member is a connection of a crowd until it is closed.
type member struct {
	net.Conn
	crowd *crowd
}

// Close implements net.Conn.
func (m *member) Close() error {
	c := m.crowd
	c.mu.Lock()
	c.open = slices.DeleteFunc(c.open, func(o *member) bool { return o == m })
	c.mu.Unlock()
	return m.Conn.Close()
}
