package socklnd

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// socketOptions are the tunables that become options of TCP sockets.
type socketOptions struct {
	tos, txBuffer, rxBuffer, backlog int
	controlTOS, controlPriority      int
	nagle                            bool
	userTimeout                      time.Duration
	keepalive                        net.KeepAliveConfig
	bind                             func(how net.ListenConfig, local netip.AddrPort) (net.Listener, error) // the function Config.Bind; nil: package net opens the socket
}

// listen opens a listener on local.
func (o socketOptions) listen(local netip.AddrPort) (net.Listener, error) {
	cfg := net.ListenConfig{Control: o.beforeBind, KeepAlive: -1}
	cfg.SetMultipathTCP(false)
	l, err := o.open(cfg, local)
	if err != nil {
		return nil, err
	}
	if err := o.setBacklog(l); err != nil {
		_ = l.Close()
		return nil, err
	}
	return &tunedListener{l, o}, nil
}

// setBacklog changes the listener's backlog to the configured one.
func (o socketOptions) setBacklog(l net.Listener) error {
	rc, err := l.(syscall.Conn).SyscallConn()
	if err != nil {
		return err
	}
	var listenErr error
	err = rc.Control(func(fd uintptr) { listenErr = unix.Listen(int(fd), o.backlog) })
	return cmp.Or(err, listenErr)
}

// tunedListener tunes the connections that it accepts.
type tunedListener struct {
	net.Listener
	opts socketOptions
}

func (l *tunedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.opts.tuneAccepted(c)
	}
	return c, err
}

// tuneAccepted tunes an accepted connection. It sets the TCP keepalive, because a listener from Config.Bind may not set it.
func (o socketOptions) tuneAccepted(c net.Conn) {
	o.tune(c)
	if tc, ok := c.(*net.TCPConn); ok {
		_ = tc.SetKeepAliveConfig(o.keepalive)
	}
}

// retune tunes an accepted connection again, which has the options of another NI, the one that opened the listener. The
// sizes of its buffers stay: they belong to the listener.
func (o socketOptions) retune(c net.Conn, was socketOptions) {
	o.tuneAccepted(c)
	if tc, ok := c.(*net.TCPConn); ok && o.tos <= 0 && was.tos > 0 {
		if rc, err := tc.SyscallConn(); err == nil {
			setTOS(tc, rc, 0)
		}
	}
}

// dial connects from local, whose port may be 0.
func (o socketOptions) dial(ctx context.Context, local, remote netip.AddrPort) (net.Conn, error) {
	d := net.Dialer{
		LocalAddr:       net.TCPAddrFromAddrPort(local),
		KeepAlive:       -1, // without keepalive; it is set later, if configured
		KeepAliveConfig: o.keepalive,
		Control: func(network, addr string, rc syscall.RawConn) error {
			if err := o.beforeBind(network, addr, rc); err != nil || local.Port() == 0 {
				return err
			}
			return setInt(rc, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
		},
	}
	c, err := d.DialContext(ctx, "tcp", remote.String())
	if err != nil {
		return nil, err
	}
	o.tune(c)
	return c, nil
}

// beforeBind sets the options that have to be set before bind or connect. Package net sets
// SO_REUSEADDR on listeners by itself.
func (o socketOptions) beforeBind(_, _ string, rc syscall.RawConn) error {
	if err := setInt(rc, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		return err
	}
	if o.txBuffer > 0 {
		if err := setInt(rc, unix.SOL_SOCKET, unix.SO_SNDBUF, o.txBuffer); err != nil {
			return err
		}
	}
	if o.rxBuffer > 0 {
		return setInt(rc, unix.SOL_SOCKET, unix.SO_RCVBUF, o.rxBuffer)
	}
	return nil
}

// tune sets the other options of a connection. Errors are ignored: a connection works without
// these options (socklnd ksocknal_lib_setup_sock). TCP_USER_TIMEOUT replaces the kernel driver's
// check of unacknowledged data.
func (o socketOptions) tune(c net.Conn) {
	tc, ok := c.(*net.TCPConn)
	if !ok {
		return
	}
	_ = tc.SetNoDelay(!o.nagle)
	rc, err := tc.SyscallConn()
	if err != nil {
		return
	}
	_ = setInt(rc, unix.IPPROTO_TCP, unix.TCP_LINGER2, -1)
	// With QUICKACK TCP would send an ACK inside the read, before the handler runs. That would
	// take a tenth of the latency of a 4 KiB message.
	_ = setInt(rc, unix.IPPROTO_TCP, unix.TCP_QUICKACK, 0)
	setUserTimeout(c, o.userTimeout)
	if o.tos > 0 {
		setTOS(tc, rc, o.tos)
	}
}

// setUserTimeout sets how long data that a connection has sent may stay unacknowledged. Errors are
// ignored.
func setUserTimeout(c net.Conn, d time.Duration) {
	if tc, ok := c.(*net.TCPConn); ok {
		if rc, err := tc.SyscallConn(); err == nil {
			_ = setInt(rc, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(d.Milliseconds()))
		}
	}
}

// tuneControl marks packets of a CONTROL or BULK_IN connection as urgent, for the queues of the
// network and of this host. Errors are ignored. The priority comes last, because setting IP_TOS
// sets it, too.
func (o socketOptions) tuneControl(c net.Conn) {
	tc, ok := c.(*net.TCPConn)
	if !ok {
		return
	}
	rc, err := tc.SyscallConn()
	if err != nil {
		return
	}
	if o.controlTOS > 0 {
		setTOS(tc, rc, o.controlTOS)
	}
	if o.controlPriority > 0 {
		_ = setInt(rc, unix.SOL_SOCKET, unix.SO_PRIORITY, o.controlPriority)
	}
}

// setTOS sets the type of service, which IPv6 calls traffic class. If the process may not
// set tos, the connection keeps the type of service that it has.
func setTOS(c net.Conn, rc syscall.RawConn, tos int) {
	if addrPort(c.LocalAddr()).Addr().Is4() {
		_ = setInt(rc, unix.IPPROTO_IP, unix.IP_TOS, tos)
	} else {
		_ = setInt(rc, unix.IPPROTO_IPV6, unix.IPV6_TCLASS, tos)
	}
}

func setInt(rc syscall.RawConn, level, opt, value int) error {
	var optErr error
	err := rc.Control(func(fd uintptr) { optErr = unix.SetsockoptInt(int(fd), level, opt, value) })
	return cmp.Or(err, optErr)
}
