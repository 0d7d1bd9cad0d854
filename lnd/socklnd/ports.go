package socklnd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"
)

// Source ports of dialled connections. Kernels accept connections from reserved ports only.
const (
	firstSourcePort = 1023 // the first port tried; then downwards (lnet_connect)
	lastSourcePort  = 512
)

// permitted returns how a process gets the right to use ports from first on, for errors.
func permitted(first uint16) string {
	return fmt.Sprintf("CAP_NET_BIND_SERVICE or sysctl net.ipv4.ip_unprivileged_port_start=%d", first)
}

// errNoPort says what to do where reserved ports are not permitted.
var errNoPort = errors.New("reserved source ports (512-1023) need " + permitted(lastSourcePort) +
	"; or accept: trust among unprivileged nodes")

// connect opens a TCP connection from the NI's address to remote.
func (ni *NI) connect(ctx context.Context, remote netip.AddrPort) (net.Conn, Reason, error) {
	var err error
	for port := uint16(firstSourcePort); port >= lastSourcePort; port-- {
		var c net.Conn
		c, err = ni.cfg.Dial(ctx, netip.AddrPortFrom(ni.addr, port), remote)
		switch {
		case err == nil:
			return c, ReasonNone, nil
		case isBindError(err, syscall.EADDRNOTAVAIL): // another port would not help: the local address is gone
			return nil, connectReason(ctx), err
		case errors.Is(err, syscall.EADDRINUSE), errors.Is(err, syscall.EADDRNOTAVAIL):
			continue
		case isBindError(err, syscall.EACCES), isBindError(err, syscall.EPERM):
			return ni.connectUnreserved(ctx, remote, NoReservedPort, fmt.Errorf("%w: %w", err, errNoPort))
		}
		return nil, connectReason(ctx), err
	}
	return ni.connectUnreserved(ctx, remote, NoFreePort, err)
}

// connectUnreserved opens a connection from any port, if the configuration of this NI allows
// unprivileged use. Otherwise it returns its arguments why and cause, which say why there is no
// reserved port.
func (ni *NI) connectUnreserved(ctx context.Context, remote netip.AddrPort, why Reason, cause error) (net.Conn, Reason, error) {
	if ni.cfg.Accept != AcceptTrust && ni.cfg.AcceptPort <= maxPrivilegedPort {
		return nil, why, cause
	}
	c, err := ni.cfg.Dial(ctx, netip.AddrPortFrom(ni.addr, 0), remote)
	if err != nil {
		return nil, connectReason(ctx), err
	}
	return c, ReasonNone, nil
}

// isBindError reports whether err has this errno and came from bind, not from connect.
func isBindError(err error, errno syscall.Errno) bool {
	e, ok := errors.AsType[*os.SyscallError](err)
	return ok && e.Syscall == "bind" && errors.Is(e, errno)
}

// connectReason tells a time-out from other failures.
func connectReason(ctx context.Context) Reason {
	if ctx.Err() != nil {
		return ConnectTimeout
	}
	return ConnectFailed
}

// listenError adds advice to an error of binding the accept port.
func listenError(err error, port uint16) error {
	if errors.Is(err, syscall.EACCES) {
		return fmt.Errorf("socklnd: listening on port %d needs %s: %w", port, permitted(port), err)
	}
	return fmt.Errorf("socklnd: listen: %w", err)
}
