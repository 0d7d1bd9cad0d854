package socklnd

import (
	"cmp"
	"encoding/binary"
	"net"
	"net/netip"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// datagramReader is the socket on which datagrams arrive, for all groups of an NI. It reads
// several with one call. Other sockets of this host may have the same port.
type datagramReader struct {
	conn   *net.UDPConn
	rc     syscall.RawConn
	is6    bool
	buffer int // size of the socket's receive buffer in bytes
	poll   *polling
	look   bool // the next read may busy-poll, because the last one brought datagrams for lnet

	fn     func(fd uintptr) bool // method try as a function value, made once and not for each read
	onceFn func(fd uintptr) bool // method once as a function value
	slots  []datagramSlot
	msgs   []unix.Mmsghdr
	n      int // number of datagrams that the last call read
	errno  syscall.Errno
}

// datagramSlot is room for one datagram and its control messages.
type datagramSlot struct {
	bytes   []byte
	name    unix.RawSockaddrInet6 // source address, IPv4 or IPv6
	control [128]byte
	iov     iovec
}

// The memory of a reader is divided into slots of one datagram each: as many as fit into
// slotMemory, but at least leastSlots and at most mostSlots.
const (
	slotMemory = 256 << 10
	leastSlots = 4
	mostSlots  = 64
)

// newDatagramReader opens the socket for datagrams of at most longest bytes. buffer is the
// size of the receive buffer to ask for.
func newDatagramReader(addr netip.Addr, port uint16, buffer, longest int, poll *polling) (*datagramReader, error) {
	r := &datagramReader{is6: addr.Is6(), poll: poll}
	local := netip.IPv4Unspecified()
	options := []datagramOption{
		{unix.SOL_SOCKET, unix.SO_REUSEADDR, 1},
		{unix.SOL_SOCKET, unix.SO_RXQ_OVFL, 1},
		{unix.IPPROTO_IP, unix.IP_PKTINFO, 1},
		{unix.IPPROTO_IP, unix.IP_MULTICAST_ALL, 0}, // do not receive for groups that only other sockets of this host joined
	}
	if r.is6 {
		local = netip.IPv6Unspecified()
		options[2] = datagramOption{unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO, 1}
		options[3] = datagramOption{unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_ALL, 0}
	}
	var err error
	r.conn, r.rc, err = openUDP(netip.AddrPortFrom(local, port), func(fd int) error {
		if err := setOptions(fd, options); err != nil {
			return err
		}
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, buffer) // the system grants as much as it allows
		r.buffer, _ = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF)
		return nil
	})
	if err != nil {
		return nil, err
	}
	r.fn, r.onceFn = r.try, r.once
	if poll.limit > 0 {
		_ = r.rc.Control(poll.pollSet.add) // fails only if the socket is closed, which it is not
	}
	r.makeSlots(longest)
	return r, nil
}

func (r *datagramReader) makeSlots(longest int) {
	n := min(max(slotMemory/longest, leastSlots), mostSlots)
	r.slots, r.msgs = make([]datagramSlot, n), make([]unix.Mmsghdr, n)
	memory := make([]byte, n*longest)
	for i := range r.slots {
		s := &r.slots[i]
		s.bytes = memory[i*longest : (i+1)*longest]
		s.iov.Base = &s.bytes[0]
		s.iov.SetLen(longest)
	}
}

func (r *datagramReader) close() { _ = r.conn.Close() }

// read waits for datagrams and returns how many have come. The error is
// net.ErrClosed after close.
func (r *datagramReader) read() (int, error) {
	for i := range r.msgs {
		s, h := &r.slots[i], &r.msgs[i].Hdr
		h.Name, h.Namelen = (*byte)(unsafe.Pointer(&s.name)), uint32(unsafe.Sizeof(s.name))
		h.Iov, h.Control = &s.iov, &s.control[0]
		h.SetIovlen(1)
		h.SetControllen(len(s.control))
	}
	r.n, r.errno = 0, 0
	if err := r.rc.Read(r.fn); err != nil {
		return 0, net.ErrClosed
	}
	if r.errno != 0 {
		return 0, os.NewSyscallError("recvmmsg", r.errno)
	}
	raceRead()
	return r.n, nil
}

// try reads, and busy-polls for a while if look is set; false tells the poller to wait and
// call again.
func (r *datagramReader) try(fd uintptr) bool {
	there := r.once(fd)
	if there || !r.look || !r.poll.begin() {
		return there
	}
	defer r.poll.end()
	return r.poll.spin(fd, r.onceFn)
}

func (r *datagramReader) once(fd uintptr) bool {
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_RECVMMSG, fd, uintptr(unsafe.Pointer(&r.msgs[0])), uintptr(len(r.msgs)), unix.MSG_DONTWAIT, 0, 0)
		if errno == unix.EINTR {
			continue
		}
		r.n, r.errno = int(n), errno
		return errno != unix.EAGAIN
	}
}

// packet fills p with datagram i of the last read.
func (r *datagramReader) packet(i int, p *packet) {
	s, m := &r.slots[i], &r.msgs[i]
	*p = packet{bytes: s.bytes[:min(int(m.Len), len(s.bytes))], cut: m.Hdr.Flags&unix.MSG_TRUNC != 0}
	port := binary.BigEndian.Uint16((*[2]byte)(unsafe.Pointer(&s.name.Port))[:])
	if r.is6 {
		p.from = netip.AddrPortFrom(netip.AddrFrom16(s.name.Addr), port)
	} else {
		p.from = netip.AddrPortFrom(netip.AddrFrom4((*unix.RawSockaddrInet4)(unsafe.Pointer(&s.name)).Addr), port)
	}
	for rest := s.control[:m.Hdr.Controllen]; len(rest) >= unix.SizeofCmsghdr; {
		h, data, next, err := unix.ParseOneSocketControlMessage(rest)
		if err != nil {
			return
		}
		p.note(&h, data)
		rest = next
	}
}

// note reads one control message, which came with a datagram, into p. Its numbers are in host byte
// order.
func (p *packet) note(h *unix.Cmsghdr, data []byte) {
	switch {
	case h.Level == unix.IPPROTO_IP && h.Type == unix.IP_PKTINFO && len(data) >= unix.SizeofInet4Pktinfo:
		p.index = int(binary.NativeEndian.Uint32(data))
		p.to = netip.AddrFrom4([4]byte(data[8:12]))
	case h.Level == unix.IPPROTO_IPV6 && h.Type == unix.IPV6_PKTINFO && len(data) >= unix.SizeofInet6Pktinfo:
		p.to = netip.AddrFrom16([16]byte(data[:16]))
		p.index = int(binary.NativeEndian.Uint32(data[16:]))
	case h.Level == unix.SOL_SOCKET && h.Type == unix.SO_RXQ_OVFL && len(data) >= 4:
		p.dropped = binary.NativeEndian.Uint32(data)
	}
}

// join joins a group on an interface. It also makes the socket block datagrams from the NI's own
// address, given as but: the system copies these to all sockets of this host, and they would wake the
// reader needlessly. Blocked datagrams do not count as missed, unlike those that a packet filter
// drops.
func (r *datagramReader) join(group netip.Addr, index int, but netip.Addr) error {
	if err := r.member(group, index, unix.IP_ADD_MEMBERSHIP, unix.IPV6_JOIN_GROUP); err != nil {
		return err
	}
	_ = r.rc.Control(func(fd uintptr) { block(fd, group, index, but) }) // if blocking fails, inspect drops these datagrams
	return nil
}

// groupSource is the system's struct group_source_req.
type groupSource struct {
	index  uint32
	_      [unsafe.Sizeof(uintptr(0)) - 4]byte
	group  [128]byte
	source [128]byte
}

// block makes a socket in a group drop datagrams that one address sends.
func block(fd uintptr, group netip.Addr, index int, source netip.Addr) {
	req, level := groupSource{index: uint32(index)}, unix.IPPROTO_IP
	if group.Is6() {
		level = unix.IPPROTO_IPV6
	}
	putAddr(&req.group, group)
	putAddr(&req.source, source)
	_ = unix.SetsockoptString(int(fd), level, unix.MCAST_BLOCK_SOURCE, string((*[unsafe.Sizeof(req)]byte)(unsafe.Pointer(&req))[:]))
}

// putAddr writes a as a struct sockaddr_storage.
func putAddr(b *[128]byte, a netip.Addr) {
	if a.Is6() {
		(*unix.RawSockaddrInet6)(unsafe.Pointer(b)).Family = unix.AF_INET6
		(*unix.RawSockaddrInet6)(unsafe.Pointer(b)).Addr = a.As16()
		return
	}
	(*unix.RawSockaddrInet4)(unsafe.Pointer(b)).Family = unix.AF_INET
	(*unix.RawSockaddrInet4)(unsafe.Pointer(b)).Addr = a.As4()
}

func (r *datagramReader) leave(group netip.Addr, index int) error {
	return r.member(group, index, unix.IP_DROP_MEMBERSHIP, unix.IPV6_LEAVE_GROUP)
}

func (r *datagramReader) member(group netip.Addr, index, opt4, opt6 int) error {
	var optErr error
	err := r.rc.Control(func(fd uintptr) {
		if r.is6 {
			optErr = unix.SetsockoptIPv6Mreq(int(fd), unix.IPPROTO_IPV6, opt6, &unix.IPv6Mreq{Multiaddr: group.As16(), Interface: uint32(index)})
		} else {
			optErr = unix.SetsockoptIPMreqn(int(fd), unix.IPPROTO_IP, opt4, &unix.IPMreqn{Multiaddr: group.As4(), Ifindex: int32(index)})
		}
	})
	return cmp.Or(err, optErr)
}
