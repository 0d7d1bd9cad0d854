package softroce

import (
	"encoding/binary"
	"errors"
	"net"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"ulnet/lnd/verbs/softroce/wire"
)

const (
	mostBursts = 32 // most bursts that one system call sends
	keptSender = 4  // most senders that a socket keeps for reuse
	// a call that sends at most this many bytes is made without telling the Go scheduler, because it
	// does not wait
	smallBurst = 256 << 10
)

// sender is the memory of a call that sends bursts.
type sender struct {
	socket *socket
	fn     func(fd uintptr) // the function that sends, bound once
	msgs   [mostBursts]unix.Mmsghdr
	slots  [mostBursts]senderSlot
	n      int // number of messages to send
	total  int // bytes of the messages to send
	done   int
	errno  unix.Errno
}

type senderSlot struct {
	name    unix.RawSockaddrInet6 // destination address, IPv4 or IPv6
	iov     unix.Iovec
	control [64]byte
}

// send sends bursts in order (wire.Conn).
func (s *socket) send(list []wire.Burst) (int, error) {
	x := s.takeSender()
	defer s.putSender(x)
	done := 0
	for done < len(list) {
		n := min(len(list)-done, mostBursts)
		x.n, x.total = n, 0
		for i := range n {
			x.set(i, &list[done+i])
		}
		raceSend()
		if err := s.rawConn().Control(x.fn); err != nil {
			return done, net.ErrClosed
		}
		if done += x.done; x.errno != 0 {
			return done, s.refusal(x, &list[done])
		}
	}
	return done, nil
}

// refusal says why the kernel did not take a burst.
func (s *socket) refusal(x *sender, b *wire.Burst) error {
	errno := x.errno
	switch errno {
	case unix.EAGAIN, unix.ENOBUFS:
		return wire.ErrFull
	case unix.EIO, unix.EINVAL: // the interface computes no checksums, or cannot divide bursts
		if b.Segments < 2 {
			break
		}
		one := *b
		one.Segments, one.Bytes = 1, b.Bytes[:b.Size] // a burst of one datagram: its number is 0 in any case
		x.n, x.total = 1, 0
		x.set(0, &one)
		if err := s.rawConn().Control(x.fn); err == nil && x.errno == 0 {
			s.segmented.Store(false)
			return wire.ErrUncut
		}
	}
	return os.NewSyscallError("sendmmsg", errno)
}

func (s *socket) takeSender() *sender {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := len(s.senders) - 1; last >= 0 {
		x := s.senders[last]
		s.senders = s.senders[:last]
		return x
	}
	x := &sender{socket: s}
	x.fn = x.call
	return x
}

func (s *socket) putSender(x *sender) {
	for i := range x.n {
		x.slots[i].iov = unix.Iovec{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.senders) < keptSender {
		s.senders = append(s.senders, x)
	}
}

// set fills message i with the burst b.
func (x *sender) set(i int, b *wire.Burst) {
	slot, h := &x.slots[i], &x.msgs[i].Hdr
	x.total += len(b.Bytes)
	slot.iov.Base = &b.Bytes[0]
	slot.iov.SetLen(len(b.Bytes))
	h.Name, h.Namelen = (*byte)(unsafe.Pointer(&slot.name)), slot.setName(b, x.socket.scope)
	h.Iov = &slot.iov
	h.SetIovlen(1)
	control := slot.control[:0]
	if b.Segments > 1 {
		control = appendControl(control, ofUDP, unix.UDP_SEGMENT, 2, uint32(b.Size))
	}
	if b.Class != 0 {
		if b.To.Addr().Is4() {
			control = appendControl(control, unix.IPPROTO_IP, unix.IP_TOS, 4, uint32(b.Class))
		} else {
			control = appendControl(control, unix.IPPROTO_IPV6, unix.IPV6_TCLASS, 4, uint32(b.Class))
		}
	}
	h.Control = nil
	if len(control) > 0 {
		h.Control = &slot.control[0]
	}
	h.SetControllen(len(control))
}

// setName sets the destination and returns the length of its structure.
func (t *senderSlot) setName(b *wire.Burst, scope uint32) uint32 {
	if b.To.Addr().Is6() {
		t.name = unix.RawSockaddrInet6{Family: unix.AF_INET6, Addr: b.To.Addr().As16()}
		if b.To.Addr().IsLinkLocalUnicast() {
			t.name.Scope_id = scope
		}
		binary.BigEndian.PutUint16((*[2]byte)(unsafe.Pointer(&t.name.Port))[:], b.To.Port())
		return unix.SizeofSockaddrInet6
	}
	v4 := (*unix.RawSockaddrInet4)(unsafe.Pointer(&t.name))
	*v4 = unix.RawSockaddrInet4{Family: unix.AF_INET, Addr: b.To.Addr().As4()}
	binary.BigEndian.PutUint16((*[2]byte)(unsafe.Pointer(&v4.Port))[:], b.To.Port())
	return unix.SizeofSockaddrInet4
}

// appendControl appends a control message with a number of n bytes, 2 or 4.
func appendControl(to []byte, level, kind, n int, value uint32) []byte {
	from := len(to)
	to = to[:from+unix.CmsgSpace(n)]
	c := to[from:]
	clear(c)
	h := (*unix.Cmsghdr)(unsafe.Pointer(&c[0]))
	h.Level, h.Type = int32(level), int32(kind)
	h.SetLen(unix.CmsgLen(n))
	if at := unix.CmsgLen(0); n == 2 {
		binary.NativeEndian.PutUint16(c[at:], uint16(value))
	} else {
		binary.NativeEndian.PutUint32(c[at:], value)
	}
	return to
}

// mostWait is how long a call waits, at most once, for room in the send buffer, in milliseconds. An
// interface that works has made room by then.
const mostWait = 2

// call sends the messages, until the kernel refuses one. The error is then that of this message;
// earlier ones were sent. Errors that the kernel reports of earlier datagrams are ignored.
func (x *sender) call(fd uintptr) {
	x.done, x.errno = 0, 0
	waited := false
	for reports := 0; x.done < x.n; {
		n, errno := x.sendmmsg(fd)
		switch {
		case errno == 0 && n > 0:
			x.done += n
		case errno == unix.EINTR:
		case errno == unix.EAGAIN && !waited && !x.socket.hasty:
			waited = true
			_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, mostWait)
		case errors.Is(errno, unix.ECONNREFUSED) && reports < x.n:
			reports++
		default:
			x.errno = errno
			return
		}
	}
}

func (x *sender) sendmmsg(fd uintptr) (int, unix.Errno) {
	call := unix.Syscall6
	if x.total <= smallBurst {
		call = unix.RawSyscall6
	}
	n, _, errno := call(unix.SYS_SENDMMSG, fd, uintptr(unsafe.Pointer(&x.msgs[x.done])), uintptr(x.n-x.done), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
	return int(n), errno
}
