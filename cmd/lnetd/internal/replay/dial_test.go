package replay

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"syscall"
)

// lowestReserved is the last port from which a kernel node tries to connect.
const lowestReserved = 512

// DialFrom opens a TCP connection from the address local. If its port is in use, DialFrom takes
// the next lower free port: the player is faster than the recorded host, so earlier connections
// may still have their ports. It dials on the calling goroutine's thread. If the other side has
// already closed the connection, that is not an error, because the bytes that it sent can still
// be read.
func DialFrom(ctx context.Context, local, remote netip.AddrPort) (*net.TCPConn, error) {
	for {
		c, err := dialOnce(ctx, local, remote)
		inUse := errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, syscall.EADDRNOTAVAIL)
		if err == nil || !inUse || local.Port() == lowestReserved {
			return c, err
		}
		local = netip.AddrPortFrom(local.Addr(), local.Port()-1)
	}
}

func dialOnce(ctx context.Context, local, remote netip.AddrPort) (*net.TCPConn, error) {
	var socket *os.File // a duplicate, because a failed dial closes its own socket
	d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(local)}
	d.Control = func(_, _ string, rc syscall.RawConn) (err error) {
		socket, err = prepare(rc)
		return err
	}
	d.SetMultipathTCP(false)
	c, err := d.DialContext(ctx, "tcp", remote.String())
	if socket != nil {
		defer socket.Close()
	}
	switch {
	case err == nil:
		return c.(*net.TCPConn), nil
	case !gone(err):
		return nil, err
	}
	ended, err := net.FileConn(socket)
	if err != nil {
		return nil, err
	}
	return ended.(*net.TCPConn), nil
}

// prepare sets SO_REUSEADDR and returns a duplicate of the socket.
func prepare(rc syscall.RawConn) (duplicate *os.File, err error) {
	var optErr error
	err = rc.Control(func(fd uintptr) {
		if optErr = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); optErr != nil {
			return
		}
		same, _, errno := syscall.Syscall(syscall.SYS_FCNTL, fd, syscall.F_DUPFD_CLOEXEC, 0)
		if errno != 0 {
			optErr = errno
			return
		}
		duplicate = os.NewFile(same, "socket")
	})
	return duplicate, errors.Join(err, optErr)
}
