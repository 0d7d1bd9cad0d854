//go:build !linux

package socklnd

import (
	"context"
	"net"
	"net/netip"
	"time"
)

// socketOptions are the tunables that become options of TCP sockets. Only
// keepalive and nagle work everywhere.
type socketOptions struct {
	tos, txBuffer, rxBuffer, backlog int
	controlTOS, controlPriority      int
	nagle                            bool
	userTimeout                      time.Duration
	keepalive                        net.KeepAliveConfig
	bind                             func(how net.ListenConfig, local netip.AddrPort) (net.Listener, error) // the function Config.Bind; nil: package net opens the socket
}

func (o socketOptions) listen(local netip.AddrPort) (net.Listener, error) {
	cfg := net.ListenConfig{KeepAlive: -1, KeepAliveConfig: o.keepalive}
	return o.open(cfg, local)
}

func (o socketOptions) dial(ctx context.Context, local, remote netip.AddrPort) (net.Conn, error) {
	d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(local), KeepAlive: -1, KeepAliveConfig: o.keepalive}
	c, err := d.DialContext(ctx, "tcp", remote.String())
	if tc, ok := c.(*net.TCPConn); ok {
		_ = tc.SetNoDelay(!o.nagle)
	}
	return c, err
}

// retune gives an accepted connection, which has the keepalive of the NI that opened the listener, that of another NI.
func (o socketOptions) retune(c net.Conn, _ socketOptions) {
	if tc, ok := c.(*net.TCPConn); ok {
		_ = tc.SetKeepAliveConfig(o.keepalive)
	}
}

// tuneControl does nothing on this system.
func (o socketOptions) tuneControl(net.Conn) {}

// setUserTimeout does nothing on this system.
func setUserTimeout(net.Conn, time.Duration) {}
