//go:build linux

package main_test

import (
	"io"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ulnet/cmd/lnetd/internal/lnetdtest"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/wire"
)

// Constants of the test of handshakes: the address of the daemon, the address of the node that
// pings, and the delay of answers to the handshakes of bulk connections. That node waits longer than the delay
// for such an answer.
const (
	pingedAddr = "127.0.0.2"
	pingerAddr = "127.0.0.3"
	helloHeld  = 200 * time.Millisecond
)

// slowListener accepts connections in place of a daemon, and passes their data on to it. It
// counts the connections that end before their handshake is complete: for each of these a kernel
// logs "lnet_acceptor() Error -104".
type slowListener struct {
	t        *testing.T
	daemon   netip.AddrPort
	accepted atomic.Int64
	halfOpen atomic.Int64
	running  sync.WaitGroup
}

// TestStandaloneHandshakes: lnetctl ping --standalone ends when it has its answer. The node of
// the command also opens bulk connections. The command must not end before their handshakes are
// complete.
func TestStandaloneHandshakes(t *testing.T) {
	t.Parallel()
	const pings = 3
	s := &slowListener{t: t, daemon: freeAt(t, pingedAddr)}
	d := lnetdtest.Build(t).Start(t, lnetdtest.Config{Networks: "tcp(" + pingedAddr + ")", Port: s.daemon.Port()})
	front := freeAt(t, pingedAddr) // a port other than the daemon's
	l, err := net.Listen("tcp", front.String())
	if err != nil {
		t.Fatal(err)
	}
	s.running.Go(func() { s.serve(l) })
	for range pings {
		if _, err := d.Lnetctl(t.Context(), "ping", "--timeout", "60s", "--standalone", "--networks", "tcp("+pingerAddr+")",
			"--accept-port", strconv.Itoa(int(front.Port())), pingedAddr+"@tcp"); err != nil {
			t.Error(err)
		}
	}
	l.Close()
	s.running.Wait()
	if n := s.halfOpen.Load(); n > 0 {
		t.Errorf("%d of %d connections ended before their handshake", n, s.accepted.Load())
	}
	if n := s.accepted.Load(); n <= pings {
		t.Errorf("%d connections for %d pings: no bulk connection was begun", n, pings)
	}
}

// freeAt returns an unused port of an address.
func freeAt(t *testing.T, addr string) netip.AddrPort {
	t.Helper()
	a := netip.MustParseAddr(addr)
	port, err := loopback.FreePort(a)
	if err != nil {
		t.Fatal(err)
	}
	return netip.AddrPortFrom(a, port)
}

// serve accepts connections until l is closed.
func (s *slowListener) serve(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		s.accepted.Add(1)
		s.running.Go(func() { s.pass(c.(*net.TCPConn)) })
	}
}

// pass connects c with the daemon, from the address of the node that pings. It delays the
// daemon's answers on bulk connections.
func (s *slowListener) pass(c *net.TCPConn) {
	began := time.Now()
	defer c.Close()
	opening := make([]byte, wire.AcceptorV1Size+ksock.HelloSize)
	if _, err := io.ReadFull(c, opening); err != nil {
		s.halfOpen.Add(1)
		return
	}
	hello, _, err := ksock.ParseHello(opening[wire.AcceptorV1Size:])
	if err != nil {
		s.t.Errorf("HELLO: %v", err)
		return
	}
	to, err := net.DialTCP("tcp", &net.TCPAddr{IP: net.ParseIP(pingerAddr)}, net.TCPAddrFromAddrPort(s.daemon))
	if err != nil {
		s.t.Error(err)
		return
	}
	defer to.Close()
	_, _ = to.Write(opening) // fails only if the daemon has ended
	hold := helloHeld
	if hello.ConnType == ksock.Control {
		hold = 0
	}
	answers := time.AfterFunc(hold, func() { _, _ = io.Copy(c, to) })
	_, _ = io.Copy(to, c)
	if answers.Stop() && time.Since(began) < hold {
		s.halfOpen.Add(1)
	}
}
