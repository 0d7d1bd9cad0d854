package softroce

import (
	"encoding/binary"
	"net"
	"net/netip"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"ulnet/lnd/hostaddr"
)

// multicastHops is how many routers a datagram to a group may pass, as with
// RDMA-CM (rocev2 §10).
const multicastHops = 64

// longestCast is the size of the buffer for a packet to a group, in bytes. No packet is as long.
const longestCast = 8 << 10

// openGroup opens a socket that receives datagrams to a group by way of the interface of local;
// the group has the same port as local. The socket does not receive datagrams for groups that
// only other sockets of this host have joined. Package net cannot open such a socket: it binds
// a socket for a group to all addresses, and then the device's own packets would arrive there
// too.
func openGroup(local netip.AddrPort, group netip.Addr, rcvbuf int) (*socket, error) {
	by, err := hostaddr.Interface(local.Addr())
	if err != nil {
		return nil, err
	}
	family := unix.AF_INET
	if group.Is6() {
		family = unix.AF_INET6
	}
	fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	f := os.NewFile(uintptr(fd), "group")
	defer f.Close() // FilePacketConn has duplicated the descriptor
	s := &socket{local: netip.AddrPortFrom(group, local.Port())}
	if err := s.setUp(fd, group.Is6(), rcvbuf); err != nil {
		return nil, os.NewSyscallError("setsockopt", err)
	}
	_ = unix.SetsockoptInt(fd, ofUDP, unix.UDP_GRO, 0) // datagrams arrive one by one, which needs less memory
	s.receiver = newReceiver(longestCast)
	s.receiver.counts = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RXQ_OVFL, 1) == nil
	if err := bindGroup(fd, s.local, by.Index); err != nil {
		return nil, err
	}
	c, err := net.FilePacketConn(f)
	if err != nil {
		return nil, err
	}
	s.conn = c.(*net.UDPConn)
	return s, nil
}

// bindGroup binds a socket to a group and joins it by the interface with an index.
func bindGroup(fd int, group netip.AddrPort, index int) error {
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		return os.NewSyscallError("setsockopt", err)
	}
	if group.Addr().Is4() {
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_MULTICAST_ALL, 0); err != nil {
			return os.NewSyscallError("setsockopt", err)
		}
		if err := unix.Bind(fd, &unix.SockaddrInet4{Port: int(group.Port()), Addr: group.Addr().As4()}); err != nil {
			return os.NewSyscallError("bind", err)
		}
		m := &unix.IPMreqn{Multiaddr: group.Addr().As4(), Ifindex: int32(index)}
		return os.NewSyscallError("join", unix.SetsockoptIPMreqn(fd, unix.IPPROTO_IP, unix.IP_ADD_MEMBERSHIP, m))
	}
	for _, o := range [][3]int{
		{unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 1},
		{unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_ALL, 0},
		{unix.SOL_SOCKET, unix.SO_BINDTOIFINDEX, index}, // unlike IPv4, IPv6 does not compare the interface
	} {
		if err := unix.SetsockoptInt(fd, o[0], o[1], o[2]); err != nil {
			return os.NewSyscallError("setsockopt", err)
		}
	}
	to := &unix.SockaddrInet6{Port: int(group.Port()), Addr: group.Addr().As16(), ZoneId: uint32(index)}
	if err := unix.Bind(fd, to); err != nil {
		return os.NewSyscallError("bind", err)
	}
	m := &unix.IPv6Mreq{Multiaddr: group.Addr().As16(), Interface: uint32(index)}
	return os.NewSyscallError("join", unix.SetsockoptIPv6Mreq(fd, unix.IPPROTO_IPV6, unix.IPV6_JOIN_GROUP, m))
}

// count records how many datagrams found no room, as the system reports.
func (x *receiver) count(control []byte) {
	if h, data, _, err := unix.ParseOneSocketControlMessage(control); err == nil && h.Level == unix.SOL_SOCKET &&
		h.Type == unix.SO_RXQ_OVFL && len(data) >= 4 {
		x.missed.Store(binary.NativeEndian.Uint32(data))
	}
}

// outQueue asks the system how many bytes wait to be sent.
type outQueue struct {
	mu    sync.Mutex       // guards the field bytes
	fn    func(fd uintptr) // the function for Control, bound once
	once  sync.Once
	bytes int
}

func (q *outQueue) ask(fd uintptr) { q.bytes, _ = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ) }

// Backlog returns how many bytes the system has taken and not sent, its own overhead
// included; 0 if it does not say.
func (p *udpPort) Backlog() int {
	q := &p.socket.outQueue
	q.once.Do(func() { q.fn = q.ask })
	q.mu.Lock()
	defer q.mu.Unlock()
	q.bytes = 0
	_ = p.socket.rawConn().Control(q.fn) // in a closed socket nothing waits, so bytes stays 0
	return q.bytes
}

// Missed returns how many datagrams to a group have found no room so far.
func (p *udpPort) Missed() uint64 {
	if x := p.socket.receiver; x != nil && x.counts { // missed is the total since the socket was opened
		return uint64(x.missed.Load())
	}
	return 0
}

// castBy makes the socket send datagrams to groups by the interface of its address; members
// on this host receive them, too.
func (s *socket) castBy() error {
	by, err := hostaddr.Interface(s.local.Addr())
	if err != nil {
		return err
	}
	rc, err := s.conn.SyscallConn()
	if err != nil {
		return err
	}
	if e := rc.Control(func(fd uintptr) { err = setCasting(int(fd), s.local.Addr(), by.Index) }); e != nil {
		return e
	}
	return err
}

func setCasting(fd int, local netip.Addr, index int) error {
	options := [][3]int{
		{unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_IF, index},
		{unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_HOPS, multicastHops},
		{unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_LOOP, 1},
	}
	if local.Is4() {
		by := &unix.IPMreqn{Address: local.As4(), Ifindex: int32(index)}
		if err := unix.SetsockoptIPMreqn(fd, unix.IPPROTO_IP, unix.IP_MULTICAST_IF, by); err != nil {
			return os.NewSyscallError("setsockopt", err)
		}
		options = [][3]int{
			{unix.IPPROTO_IP, unix.IP_MULTICAST_TTL, multicastHops},
			{unix.IPPROTO_IP, unix.IP_MULTICAST_LOOP, 1},
		}
	}
	for _, o := range options {
		if err := unix.SetsockoptInt(fd, o[0], o[1], o[2]); err != nil {
			return os.NewSyscallError("setsockopt", err)
		}
	}
	return nil
}
