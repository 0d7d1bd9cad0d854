package softroce

import (
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// socket is the UDP socket of a device. It is not connected and sets DF, so that
// the kernel numbers the datagrams of a burst from 0 on (rocev2 §16). One
// goroutine at a time receives; any may send.
type socket struct {
	conn      udpConn
	raw       syscall.RawConn // raw form of conn; set on first use
	once      sync.Once
	local     netip.AddrPort
	scope     uint32      // scope id of a link-local IPv6 address
	segmented atomic.Bool // whether the kernel divides bursts (UDP_SEGMENT)
	hasty     bool        // a call that sends does not wait for room in the buffer
	// size in bytes of the receive buffer that the kernel gave, with the kernel's overhead
	receiveBuffer int
	sendBuffer    int

	mu      sync.Mutex // guards the list senders
	senders []*sender

	receiver *receiver // used only by the goroutine that receives
	outQueue outQueue
}

const ofUDP = unix.SOL_UDP

// sendBuffer is the send buffer to request from the system, for packets that wait for a slow
// interface. PostSend does not wait for room.
const sendBuffer = 4 << 20

// openSocket binds a socket. rcvbuf 0 leaves the system's default.
func (u udp) openSocket(local netip.AddrPort, rcvbuf int) (*socket, error) {
	s := new(socket)
	c, err := u.listen(net.ListenConfig{Control: func(_, _ string, rc syscall.RawConn) (err error) {
		if e := rc.Control(func(fd uintptr) { err = s.setUp(int(fd), local.Addr().Is6(), rcvbuf) }); e != nil {
			return e
		}
		return err
	}}, local)
	if err != nil {
		return nil, err
	}
	s.conn = c
	s.local = s.conn.LocalAddr().(*net.UDPAddr).AddrPort()
	if zone := local.Addr().Zone(); zone != "" {
		by, err := net.InterfaceByName(zone)
		if err != nil {
			_ = c.Close()
			return nil, err
		}
		s.scope = uint32(by.Index)
	}
	return s, nil
}

// setUp sets the options of the socket. The kernel may lack those for cutting and joining
// datagrams.
func (s *socket) setUp(fd int, v6 bool, rcvbuf int) error {
	level, discover, probe := unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_PROBE
	if v6 {
		level, discover, probe = unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_PROBE
	}
	if err := unix.SetsockoptInt(fd, level, discover, probe); err != nil {
		return err
	}
	if v6 { // no UDP checksum: kernels and adapters send none, because the ICRC makes it needless
		if err := unix.SetsockoptInt(fd, ofUDP, unix.UDP_NO_CHECK6_RX, 1); err != nil {
			return err
		}
	}
	s.segmented.Store(unix.SetsockoptInt(fd, ofUDP, unix.UDP_SEGMENT, 0) == nil)
	_ = unix.SetsockoptInt(fd, ofUDP, unix.UDP_GRO, 1)
	if rcvbuf > 0 {
		setBuffer(fd, unix.SO_RCVBUFFORCE, unix.SO_RCVBUF, rcvbuf)
	}
	setBuffer(fd, unix.SO_SNDBUFFORCE, unix.SO_SNDBUF, sendBuffer)
	var err error
	if s.sendBuffer, err = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF); err != nil {
		return err
	}
	s.receiveBuffer, err = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF)
	return err
}

// setBuffer asks for a buffer of n bytes: by the option for privileged processes, or else by the
// plain one, which gives what the system allows.
func setBuffer(fd, force, plain, n int) {
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, force, n) != nil {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, plain, n)
	}
}

// rawConn returns the raw form of the socket.
func (s *socket) rawConn() syscall.RawConn {
	s.once.Do(func() { s.raw, _ = s.conn.SyscallConn() }) // fails only if the socket is not valid
	return s.raw
}

// cuts reports whether bursts of several datagrams may be sent.
func (s *socket) cuts() bool { return s.segmented.Load() }

// close closes the socket, which ends a waiting receive.
func (s *socket) close() error { return s.conn.Close() }
