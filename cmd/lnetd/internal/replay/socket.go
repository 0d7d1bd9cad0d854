package replay

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"syscall"
)

// lowestReserved is the last port that kernel nodes try to dial from.
const lowestReserved = 512

// DialFrom opens a TCP connection from local, or from the next lower ports if
// that one is in use, as a recording that was made in more time than it is
// played in makes likely. It dials on the calling goroutine's thread.
func DialFrom(ctx context.Context, local, remote netip.AddrPort) (*net.TCPConn, error) {
	for {
		d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(local), Control: reuseAddr}
		d.SetMultipathTCP(false)
		c, err := d.DialContext(ctx, "tcp", remote.String())
		inUse := errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, syscall.EADDRNOTAVAIL)
		if err == nil {
			return c.(*net.TCPConn), nil
		}
		if !inUse || local.Port() == lowestReserved {
			return nil, err
		}
		local = netip.AddrPortFrom(local.Addr(), local.Port()-1)
	}
}

func reuseAddr(_, _ string, rc syscall.RawConn) error {
	var optErr error
	err := rc.Control(func(fd uintptr) {
		optErr = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
	})
	return errors.Join(err, optErr)
}
