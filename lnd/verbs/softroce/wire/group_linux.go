package wire

import (
	"net"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"
)

// multicastHops is how many routers a datagram to a group may pass, as with
// RDMA-CM (reference §10).
const multicastHops = 64

// listenGroup opens a socket that receives what is sent to a group by way of an
// interface; setUp sets its options before it is bound. What others on this host
// join stays theirs. Package net cannot make it: it binds who wants a group to all
// addresses, where the device's own packets would arrive too.
func listenGroup(group netip.AddrPort, index int, setUp func(fd int) error) (*net.UDPConn, error) {
	family := unix.AF_INET
	if group.Addr().Is6() {
		family = unix.AF_INET6
	}
	fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	f := os.NewFile(uintptr(fd), "group")
	defer f.Close() // FilePacketConn has a descriptor of its own
	if err := setUp(fd); err != nil {
		return nil, os.NewSyscallError("setsockopt", err)
	}
	if err := bindGroup(fd, group, index); err != nil {
		return nil, err
	}
	c, err := net.FilePacketConn(f)
	if err != nil {
		return nil, err
	}
	return c.(*net.UDPConn), nil
}

// bindGroup binds a socket to a group and joins it.
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
		{unix.SOL_SOCKET, unix.SO_BINDTOIFINDEX, index}, // IPv6 does not compare the interface, unlike IPv4
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

// setCasting has a socket send what goes to a group by an interface; members on this
// host hear it, too.
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
