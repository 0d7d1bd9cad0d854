package socklnd

import (
	"cmp"
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// haveDatagrams says that this system has the system calls that multicast needs.
const haveDatagrams = true

// openUDP opens a UDP socket; options sets it up before it is bound.
func openUDP(local netip.AddrPort, options func(fd int) error) (*net.UDPConn, syscall.RawConn, error) {
	network := "udp4"
	if local.Addr().Is6() {
		network = "udp6"
	}
	cfg := net.ListenConfig{Control: func(_, _ string, rc syscall.RawConn) error {
		var optErr error
		err := rc.Control(func(fd uintptr) { optErr = options(int(fd)) })
		return cmp.Or(err, optErr)
	}}
	pc, err := cfg.ListenPacket(context.Background(), network, local.String())
	if err != nil {
		return nil, nil, err
	}
	conn := pc.(*net.UDPConn)
	rc, err := conn.SyscallConn()
	if err != nil {
		_ = conn.Close()
		return nil, nil, err
	}
	return conn, rc, nil
}

// datagramOption is a socket option and its value.
type datagramOption struct{ level, name, value int }

func setOptions(fd int, list []datagramOption) error {
	for _, o := range list {
		if err := unix.SetsockoptInt(fd, o.level, o.name, o.value); err != nil {
			return os.NewSyscallError("setsockopt", err)
		}
	}
	return nil
}

// datagramWriter is the socket that sends datagrams. It is bound to the NI's address and a port of
// its own, so nothing arrives there. One goroutine at a time sends; close may come at any time.
type datagramWriter struct {
	conn  *net.UDPConn
	rc    syscall.RawConn
	local netip.AddrPort

	// fn is made once and not for each call, which would allocate. The other fields hold the
	// arguments and results of the call in progress.
	fn    func(fd uintptr) bool
	hdr   unix.Msghdr
	name  unix.RawSockaddrInet6 // destination address, IPv4 or IPv6
	iov   []iovec
	total int
	wait  bool
	errno syscall.Errno
}

func newDatagramWriter(addr netip.Addr, index, ttl, tos, buffer int) (*datagramWriter, error) {
	w := new(datagramWriter)
	var err error
	w.conn, w.rc, err = openUDP(netip.AddrPortFrom(addr, 0), func(fd int) error {
		if buffer > 0 {
			_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, buffer)
		}
		if addr.Is6() {
			if tos > 0 {
				_ = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_TCLASS, tos)
			}
			return setOptions(fd, []datagramOption{
				{unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_IF, index},
				{unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_HOPS, ttl},
				{unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_LOOP, 1},
				{unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_DO},
				{unix.IPPROTO_IPV6, unix.IPV6_DONTFRAG, 1},
			})
		}
		if tos > 0 {
			_ = unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_TOS, tos)
		}
		by := &unix.IPMreqn{Address: addr.As4(), Ifindex: int32(index)}
		if err := unix.SetsockoptIPMreqn(fd, unix.IPPROTO_IP, unix.IP_MULTICAST_IF, by); err != nil {
			return os.NewSyscallError("setsockopt", err)
		}
		return setOptions(fd, []datagramOption{
			{unix.IPPROTO_IP, unix.IP_MULTICAST_TTL, ttl},
			{unix.IPPROTO_IP, unix.IP_MULTICAST_LOOP, 1},
			{unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_DO},
		})
	})
	if err != nil {
		return nil, err
	}
	w.local = addrPort(w.conn.LocalAddr())
	w.fn = w.try
	return w, nil
}

func (w *datagramWriter) close() { _ = w.conn.Close() }

// send sends one datagram. sent is false, without an error, if the socket's send buffer is full
// and wait is not set.
func (w *datagramWriter) send(to netip.AddrPort, pieces [][]byte, wait bool) (sent bool, err error) {
	w.iov, w.total = w.iov[:0], 0
	for _, p := range pieces {
		e := iovec{Base: &p[0]}
		e.SetLen(len(p))
		w.iov = append(w.iov, e)
		w.total += len(p)
	}
	w.hdr = unix.Msghdr{Name: (*byte)(unsafe.Pointer(&w.name)), Namelen: w.setName(to), Iov: &w.iov[0]}
	w.hdr.SetIovlen(len(w.iov))
	w.wait, w.errno = wait, 0
	raceWrite()
	err = w.rc.Write(w.fn)
	clear(w.iov)
	switch {
	case err != nil:
		return true, err
	case w.errno == unix.EAGAIN:
		return false, nil
	case w.errno != 0:
		return true, os.NewSyscallError("sendmsg", w.errno)
	}
	return true, nil
}

// setName sets the destination and returns the length of its structure.
func (w *datagramWriter) setName(to netip.AddrPort) uint32 {
	if to.Addr().Is6() {
		w.name = unix.RawSockaddrInet6{Family: unix.AF_INET6, Addr: to.Addr().As16()}
		binary.BigEndian.PutUint16((*[2]byte)(unsafe.Pointer(&w.name.Port))[:], to.Port())
		return unix.SizeofSockaddrInet6
	}
	v4 := (*unix.RawSockaddrInet4)(unsafe.Pointer(&w.name))
	*v4 = unix.RawSockaddrInet4{Family: unix.AF_INET, Addr: to.Addr().As4()}
	binary.BigEndian.PutUint16((*[2]byte)(unsafe.Pointer(&v4.Port))[:], to.Port())
	return unix.SizeofSockaddrInet4
}

// smallDatagram is the largest datagram, in bytes, that is sent by a raw system call, without
// telling the Go scheduler. The call of a larger one takes longer, because it copies the datagram
// to all receivers on this host.
const smallDatagram = 16 << 10

// try sends once; false tells the poller to wait and call again.
func (w *datagramWriter) try(fd uintptr) bool {
	call := unix.Syscall
	if w.total <= smallDatagram {
		call = unix.RawSyscall
	}
	for {
		_, _, w.errno = call(unix.SYS_SENDMSG, fd, uintptr(unsafe.Pointer(&w.hdr)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		if w.errno != unix.EINTR {
			return w.errno != unix.EAGAIN || !w.wait
		}
	}
}
