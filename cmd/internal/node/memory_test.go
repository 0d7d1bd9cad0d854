package node

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"syscall"

	"ulnet/lnd/socklnd"
)

// memoryNet is a network in memory, for nodes over socklnd under testing/synctest.
type memoryNet struct {
	mu        sync.Mutex
	listeners map[netip.AddrPort]*memoryListener // listeners by address; guarded by mu
	port      uint16                             // number of connections so far, from which the local port of each follows; guarded by mu
}

type memoryListener struct {
	addr    netip.AddrPort
	backlog chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

// memoryConn is a pipe with addresses. It has no buffer: a write lasts until the other end has
// read the bytes.
type memoryConn struct {
	net.Conn
	local, remote netip.AddrPort
}

func (c *memoryConn) LocalAddr() net.Addr  { return net.TCPAddrFromAddrPort(c.local) }
func (c *memoryConn) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(c.remote) }

func (n *memoryNet) driver() (*socklnd.Driver, error) {
	return socklnd.New(socklnd.Config{Accept: socklnd.AcceptTrust, Listen: n.listen, Dial: n.dial})
}

func (n *memoryNet) listen(at netip.AddrPort) (net.Listener, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := &memoryListener{addr: at, backlog: make(chan net.Conn, 100), closed: make(chan struct{})}
	if n.listeners == nil {
		n.listeners = make(map[netip.AddrPort]*memoryListener)
	}
	n.listeners[at] = l
	return l, nil
}

func (n *memoryNet) dial(_ context.Context, local, remote netip.AddrPort) (net.Conn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.listeners[remote]
	if l == nil {
		return nil, syscall.ECONNREFUSED
	}
	n.port++
	local = netip.AddrPortFrom(local.Addr(), 2000+n.port)
	a, b := net.Pipe()
	select {
	case l.backlog <- &memoryConn{b, remote, local}:
		return &memoryConn{a, local, remote}, nil
	case <-l.closed:
		return nil, syscall.ECONNREFUSED
	}
}

func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.backlog:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *memoryListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *memoryListener) Addr() net.Addr { return net.TCPAddrFromAddrPort(l.addr) }
