package softroce

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"ulnet/lnd/verbs/softroce/wire"
)

// socket is the UDP socket of a device. It is not connected and sets DF, so that
// the kernel numbers the datagrams of a burst from 0 on (reference §16). One
// goroutine at a time receives; any may send.
type socket struct {
	conn          *net.UDPConn
	local         netip.AddrPort
	segmented     bool // the kernel cuts bursts (UDP_SEGMENT)
	receiveBuffer int  // bytes that the kernel gave, with its own overhead

	mu      sync.Mutex // guards control
	control []byte

	// Of the receiver.
	buffer   []byte
	ancients [64]byte // ancillary data
}

const (
	ofUDP        = unix.SOL_UDP
	mostReceived = 1 << 16 // what the kernel joins (UDP_GRO)
)

// openSocket binds a socket. rcvbuf 0 leaves the system's default.
func openSocket(local netip.AddrPort, rcvbuf int) (*socket, error) {
	s := &socket{buffer: make([]byte, mostReceived), control: make([]byte, 0, 64)}
	network := "udp4"
	if local.Addr().Is6() {
		network = "udp6"
	}
	cfg := net.ListenConfig{Control: func(_, _ string, rc syscall.RawConn) (err error) {
		if e := rc.Control(func(fd uintptr) { err = s.setUp(int(fd), network == "udp6", rcvbuf) }); e != nil {
			return e
		}
		return err
	}}
	c, err := cfg.ListenPacket(context.Background(), network, local.String())
	if err != nil {
		return nil, err
	}
	s.conn = c.(*net.UDPConn)
	s.local = s.conn.LocalAddr().(*net.UDPAddr).AddrPort()
	return s, nil
}

// setUp sets the options of the socket. Cutting and joining are there if the
// kernel has them.
func (s *socket) setUp(fd int, v6 bool, rcvbuf int) error {
	level, discover, probe := unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_PROBE
	if v6 {
		level, discover, probe = unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_PROBE
	}
	if err := unix.SetsockoptInt(fd, level, discover, probe); err != nil {
		return err
	}
	s.segmented = unix.SetsockoptInt(fd, ofUDP, unix.UDP_SEGMENT, 0) == nil
	_ = unix.SetsockoptInt(fd, ofUDP, unix.UDP_GRO, 1)
	if rcvbuf > 0 {
		if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, rcvbuf) != nil { // not privileged
			_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, rcvbuf)
		}
	}
	var err error
	s.receiveBuffer, err = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF)
	return err
}

// send sends a burst, with its traffic class.
func (s *socket) send(b *wire.Burst) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.control = s.control[:0]
	if b.Segments > 1 {
		s.addControl(ofUDP, unix.UDP_SEGMENT, 2, uint32(b.Size))
	}
	if b.Class != 0 {
		if s.local.Addr().Is4() {
			s.addControl(unix.IPPROTO_IP, unix.IP_TOS, 4, uint32(b.Class))
		} else {
			s.addControl(unix.IPPROTO_IPV6, unix.IPV6_TCLASS, 4, uint32(b.Class))
		}
	}
	_, _, err := s.conn.WriteMsgUDPAddrPort(b.Bytes, s.control, b.To)
	return err
}

// addControl appends a control message with a number of n bytes, 2 or 4.
func (s *socket) addControl(level, kind, n int, value uint32) {
	from := len(s.control)
	s.control = s.control[:from+unix.CmsgSpace(n)]
	c := s.control[from:]
	clear(c)
	at := unix.CmsgLen(0)
	if at == 16 { // struct cmsghdr: a size_t and two ints
		binary.NativeEndian.PutUint64(c, uint64(unix.CmsgLen(n)))
	} else {
		binary.NativeEndian.PutUint32(c, uint32(unix.CmsgLen(n)))
	}
	binary.NativeEndian.PutUint32(c[at-8:], uint32(level))
	binary.NativeEndian.PutUint32(c[at-4:], uint32(kind))
	if n == 2 {
		binary.NativeEndian.PutUint16(c[at:], uint16(value))
	} else {
		binary.NativeEndian.PutUint32(c[at:], value)
	}
}

// receive waits for datagrams, which are valid until the next call. All come from
// the same node.
func (s *socket) receive() (wire.Datagrams, error) {
	n, oobn, _, from, err := s.conn.ReadMsgUDPAddrPort(s.buffer, s.ancients[:])
	if err != nil {
		return wire.Datagrams{}, err
	}
	return wire.Datagrams{From: from, Size: segmentSize(s.ancients[:oobn], n), Bytes: s.buffer[:n]}, nil
}

// segmentSize returns the size of datagrams that the kernel has joined, and whole
// if it has not. It asks for UDP_GRO alone, and so nothing else is in oob.
func segmentSize(oob []byte, whole int) int {
	at := unix.CmsgLen(0)
	if len(oob) < at+4 || binary.NativeEndian.Uint32(oob[at-4:]) != unix.UDP_GRO || binary.NativeEndian.Uint32(oob[at-8:]) != ofUDP {
		return max(whole, 1)
	}
	return max(int(binary.NativeEndian.Uint32(oob[at:])), 1)
}

// close ends a receive that waits.
func (s *socket) close() error { return s.conn.Close() }
