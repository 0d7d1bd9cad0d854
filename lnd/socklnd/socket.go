package socklnd

import (
	"context"
	"net"
	"net/netip"
)

// sockets returns the options that concern sockets.
func (c Config) sockets() socketOptions {
	return socketOptions{
		tos: c.TOS, nagle: c.Nagle, txBuffer: c.TxBufferSize, rxBuffer: c.RxBufferSize,
		backlog: c.AcceptBacklog, userTimeout: c.SockTimeout, bind: c.Bind,
		controlTOS: c.ControlTOS, controlPriority: c.ControlPriority,
		keepalive: net.KeepAliveConfig{
			Enable: c.KeepaliveIdle > 0, Idle: c.KeepaliveIdle,
			Interval: c.KeepaliveInterval, Count: c.KeepaliveCount,
		},
	}
}

// open opens the listening socket of an address.
func (o socketOptions) open(how net.ListenConfig, local netip.AddrPort) (net.Listener, error) {
	if o.bind != nil {
		return o.bind(how, local)
	}
	return how.Listen(context.Background(), "tcp", local.String())
}

// withSockets fills in TCP where no other transport was given.
func (c Config) withSockets() Config {
	opts := c.sockets()
	if c.Listen == nil {
		c.Listen = opts.listen
	}
	if c.Dial == nil {
		c.Dial = opts.dial
	}
	return c
}
