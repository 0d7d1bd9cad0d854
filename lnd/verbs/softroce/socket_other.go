//go:build !linux

package softroce

import (
	"net"
	"net/netip"

	"ulnet/lnd/verbs/softroce/wire"
)

// socket is a plain UDP socket. On systems other than Linux, the IPv4 identification of the
// packets that it sends is not known. Peers that check the ICRC drop these packets, unless they
// compute the identification from the ICRC as this package does (rocev2 §16).
type socket struct {
	conn          udpConn
	local         netip.AddrPort
	receiveBuffer int
	hasty         bool // without effect here
	buffer        []byte
}

// openSocket opens a UDP socket bound to local.
func (u udp) openSocket(local netip.AddrPort, rcvbuf int) (*socket, error) {
	const usual = 200 << 10
	c, err := u.listen(net.ListenConfig{}, local)
	if err != nil {
		return nil, err
	}
	s := &socket{conn: c, local: c.LocalAddr().(*net.UDPAddr).AddrPort(), receiveBuffer: usual, buffer: make([]byte, 1<<16)}
	if buffered, can := c.(interface{ SetReadBuffer(bytes int) error }); can && rcvbuf > 0 && buffered.SetReadBuffer(rcvbuf) == nil {
		s.receiveBuffer = rcvbuf
	}
	return s, nil
}

// send sends bursts, which are one datagram each (wire.Conn).
func (s *socket) send(list []wire.Burst) (int, error) {
	for i := range list {
		if _, err := s.conn.WriteToUDPAddrPort(list[i].Bytes, list[i].To); err != nil {
			return i, err
		}
	}
	return len(list), nil
}

// receive waits for a datagram, which is valid until the next call.
func (s *socket) receive() ([]wire.Datagrams, error) {
	n, from, err := s.conn.ReadFromUDPAddrPort(s.buffer)
	return []wire.Datagrams{{From: from, Size: n, Bytes: s.buffer[:n]}}, err
}

// serve gives take the datagrams that arrive, until it returns false.
func (s *socket) serve(take func([]wire.Datagrams) (more bool)) error {
	for {
		if list, err := s.receive(); err != nil || !take(list) {
			return err
		}
	}
}

// cuts reports whether bursts of several datagrams may be sent.
func (*socket) cuts() bool { return false }

// close closes the socket, which ends a waiting receive.
func (s *socket) close() error { return s.conn.Close() }
