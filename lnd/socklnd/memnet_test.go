package socklnd

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// memNet is a network in memory, for tests under synctest. Connections are
// unbuffered pipes. Addresses in silent swallow connection attempts.
type memNet struct {
	mu        sync.Mutex
	listeners map[netip.AddrPort]*memListener
	used      map[[2]netip.AddrPort]bool // pairs of local and remote address in use
	dials     []netip.AddrPort           // local addresses of the dials, in order
	silent    map[netip.Addr]bool
	denied    bool // whether reserved ports are refused to the process
}

func newMemNet() *memNet {
	return &memNet{
		listeners: map[netip.AddrPort]*memListener{},
		used:      map[[2]netip.AddrPort]bool{},
		silent:    map[netip.Addr]bool{},
	}
}

func (n *memNet) config(c Config) Config {
	c.Listen, c.Dial = n.listen, n.dial
	return c
}

// ports returns the source ports of all connections, in order.
func (n *memNet) ports() (p []uint16) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, d := range n.dials {
		p = append(p, d.Port())
	}
	return p
}

// take makes dials from local to remote fail.
func (n *memNet) take(local, remote netip.AddrPort) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.used[[2]netip.AddrPort{local, remote}] = true
}

type memListener struct {
	net     *memNet
	addr    netip.AddrPort
	backlog chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

func (n *memNet) listen(local netip.AddrPort) (net.Listener, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.listeners[local] != nil {
		return nil, syscall.EADDRINUSE
	}
	l := &memListener{net: n, addr: local, backlog: make(chan net.Conn, 2000), closed: make(chan struct{})}
	n.listeners[local] = l
	return l, nil
}

func (l *memListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.backlog:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *memListener) Close() error {
	l.once.Do(func() {
		close(l.closed)
		l.net.mu.Lock()
		defer l.net.mu.Unlock()
		delete(l.net.listeners, l.addr)
	})
	return nil
}

func (l *memListener) Addr() net.Addr { return net.TCPAddrFromAddrPort(l.addr) }

func (n *memNet) dial(ctx context.Context, local, remote netip.AddrPort) (net.Conn, error) {
	n.mu.Lock()
	if n.silent[remote.Addr()] {
		n.mu.Unlock()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	defer n.mu.Unlock()
	if n.denied && local.Port() > 0 && local.Port() <= maxPrivilegedPort {
		return nil, os.NewSyscallError("bind", syscall.EACCES)
	}
	for local.Port() == 0 || n.used[[2]netip.AddrPort{local, remote}] {
		if local.Port() != 0 && local.Port() < 40000 {
			return nil, os.NewSyscallError("connect", syscall.EADDRNOTAVAIL)
		}
		local = netip.AddrPortFrom(local.Addr(), max(40000, local.Port()+1))
	}
	l := n.listeners[remote]
	if l == nil {
		return nil, os.NewSyscallError("connect", syscall.ECONNREFUSED)
	}
	n.used[[2]netip.AddrPort{local, remote}] = true
	n.dials = append(n.dials, local)
	a, b := net.Pipe()
	near := &memConn{Conn: a, local: local, remote: remote, closed: func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.used, [2]netip.AddrPort{local, remote})
	}}
	l.backlog <- &memConn{Conn: b, local: remote, remote: local}
	return near, nil
}

type memConn struct {
	net.Conn
	local, remote netip.AddrPort
	closed        func()
	once          sync.Once
}

func (c *memConn) LocalAddr() net.Addr  { return net.TCPAddrFromAddrPort(c.local) }
func (c *memConn) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(c.remote) }

func (c *memConn) Close() error {
	c.once.Do(func() {
		if c.closed != nil {
			c.closed()
		}
	})
	return c.Conn.Close()
}

// probe is a hand-made peer at the byte level.
type probe struct {
	t testing.TB
	net.Conn
}

// connect opens a connection from an address of the probe's.
func (n *memNet) connect(t testing.TB, from, to string) *probe {
	t.Helper()
	c, err := n.dial(t.Context(), netip.MustParseAddrPort(from), netip.MustParseAddrPort(to))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return &probe{t, c}
}

// accept accepts the next connection at the listener, as a probe: a peer that the test plays.
func (l *memListener) accept(t testing.TB) *probe {
	t.Helper()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return &probe{t, c}
}

// send writes the bytes that the hex text stands for, until the other end stops reading.
func (p *probe) send(hexes ...string) {
	for _, h := range hexes {
		_, _ = p.Write(unhex(p.t, h))
	}
}

// expect reads exactly the bytes that the hex text stands for.
func (p *probe) expect(want string) {
	p.t.Helper()
	w := unhex(p.t, want)
	got := p.read(len(w))
	if hex.EncodeToString(got) != hex.EncodeToString(w) {
		p.t.Errorf("got  %x\nwant %x", got, w)
	}
}

// read reads n bytes, fewer if the connection ends.
func (p *probe) read(n int) []byte {
	b := make([]byte, n)
	_ = p.SetReadDeadline(time.Now().Add(time.Hour))
	m, _ := io.ReadFull(p, b)
	return b[:m]
}

// expectEnd waits for the end of the connection and returns how long that took. It reports a test error
// if bytes come first.
func (p *probe) expectEnd() time.Duration {
	p.t.Helper()
	begin := time.Now()
	_ = p.SetReadDeadline(begin.Add(time.Hour))
	rest, err := io.ReadAll(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		p.t.Error("connection stays open")
	}
	if len(rest) > 0 {
		p.t.Errorf("unexpected bytes %x", rest)
	}
	_ = p.Close()
	return time.Since(begin)
}

// expectOpen checks that the other end neither writes nor closes for d.
func (p *probe) expectOpen(d time.Duration) {
	p.t.Helper()
	_ = p.SetReadDeadline(time.Now().Add(d))
	var b [1]byte
	if n, err := p.Read(b[:]); n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		p.t.Errorf("read %d bytes %x, %v; want an open, silent connection", n, b[:n], err)
	}
}

// unhex decodes hex with blanks and comments after a semicolon.
func unhex(t testing.TB, text string) []byte {
	t.Helper()
	var s strings.Builder
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, ";")
		s.WriteString(strings.Join(strings.Fields(line), ""))
	}
	b, err := hex.DecodeString(s.String())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// addrPortOf joins an address and a port.
func addrPortOf(addr string, port int) netip.AddrPort {
	return netip.AddrPortFrom(netip.MustParseAddr(addr), uint16(port))
}

func addrText(addr string, port int) string { return addrPortOf(addr, port).String() }
