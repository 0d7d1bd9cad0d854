//go:build !linux

package softroce

import (
	"net"
	"net/netip"

	"ulnet/lnd/verbs/softroce/wire"
)

// socket is a plain UDP socket. Without Linux nothing is known of the IPv4
// identification of what it sends: peers that check the ICRC drop it, unless they
// solve for it as we do (reference §16).
type socket struct {
	conn          *net.UDPConn
	local         netip.AddrPort
	segmented     bool
	receiveBuffer int
	buffer        []byte
}

// openSocket binds a socket.
func openSocket(local netip.AddrPort, rcvbuf int) (*socket, error) {
	const usual = 200 << 10
	c, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(local))
	if err != nil {
		return nil, err
	}
	s := &socket{conn: c, local: c.LocalAddr().(*net.UDPAddr).AddrPort(), receiveBuffer: usual, buffer: make([]byte, 1<<16)}
	if rcvbuf > 0 && c.SetReadBuffer(rcvbuf) == nil {
		s.receiveBuffer = rcvbuf
	}
	return s, nil
}

// send sends a burst, which is one datagram.
func (s *socket) send(b *wire.Burst) error {
	_, err := s.conn.WriteToUDPAddrPort(b.Bytes, b.To)
	return err
}

// receive waits for a datagram, which is valid until the next call.
func (s *socket) receive() (wire.Datagrams, error) {
	n, from, err := s.conn.ReadFromUDPAddrPort(s.buffer)
	return wire.Datagrams{From: from, Size: max(n, 1), Bytes: s.buffer[:n]}, err
}

// close ends a receive that waits.
func (s *socket) close() error { return s.conn.Close() }
