package socklnd

import (
	"net"
	"net/netip"
	"sync/atomic"

	"ulnet/lnd"
	"ulnet/lnd/readloop"
	"ulnet/lnd/socklnd/ksock"
)

// conn is an established connection (struct ksock_conn). It ends when any connection of its
// peer fails.
type conn struct {
	peer      *peer
	net       net.Conn
	stream    stream
	version   ksock.Version
	framing   framing        // framing of the connection's version
	ctype     ksock.ConnType // connection type as this side sees it
	bigEndian bool           // the other end is a big-endian host
	dialled   bool           // this side dialled
	// incarnation is the incarnation in the peer's HELLO.
	incarnation uint64
	local       netip.AddrPort
	remote      netip.AddrPort
	flow        lnd.Flow // the capture's view of the connection; nil: no capture

	dead     chan struct{} // closed when the connection is closed
	attached bool          // whether the peer's list has the connection; guarded by peer.mu
	usedAt   uint64        // value of peer.sequence when the connection was last used; guarded by peer.mu

	rx       reader // used only by the goroutine that runs the read loop
	loop     readloop.Loop
	rxMsgs   atomic.Uint64
	rxBytes  atomic.Uint64
	midway   atomic.Bool // the reader waits for the rest of a message, of which a part has come
	tx       writer
	txMsgs   atomic.Uint64
	txBytes  atomic.Uint64
	progress progress // used only by the scan
}

// link has what the two sides have agreed upon in a handshake.
type link struct {
	net         net.Conn
	flow        lnd.Flow
	local       netip.AddrPort
	remote      netip.AddrPort
	dialled     bool
	version     ksock.Version
	ctype       ksock.ConnType // connection type as this side sees it
	bigEndian   bool
	incarnation uint64 // incarnation of the peer
}

func newConn(p *peer, l *link) *conn {
	c := &conn{
		peer: p, net: l.net, stream: newStream(l.net, p.ni.polling),
		version: l.version, framing: newFraming(l.version, p.ni.cfg.Checksum), ctype: l.ctype, bigEndian: l.bigEndian, dialled: l.dialled,
		incarnation: l.incarnation, local: l.local, remote: l.remote, flow: l.flow, dead: make(chan struct{}),
	}
	c.loop.Init(&c.rx, p.ni.watchdog, p.ni.clock)
	c.rx.init(c)
	c.tx.init(c)
	return c
}

// close ends the connection, which wakes its reader and writer, and returns
// the messages that no writer has taken yet. The caller holds peer.mu and has
// detached c.
func (c *conn) close(cause error) lnd.Queue {
	q := c.tx.close(cause)
	close(c.dead)
	_ = c.net.Close()
	return q
}

// closeFlow ends the capture of the connection when both reader and writer have ended.
func (c *conn) closeFlow() {
	if c.flow != nil {
		c.flow.Close()
	}
}

// addrPort returns the IP address and port of a, zero if it has none.
func addrPort(a net.Addr) netip.AddrPort {
	var ap netip.AddrPort
	switch a := a.(type) {
	case nil:
	case *net.TCPAddr:
		ap = a.AddrPort()
	default:
		ap, _ = netip.ParseAddrPort(a.String())
	}
	return netip.AddrPortFrom(ap.Addr().Unmap().WithZone(""), ap.Port())
}
