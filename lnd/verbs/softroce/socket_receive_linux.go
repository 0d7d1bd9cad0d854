package softroce

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"ulnet/lnd/verbs/softroce/wire"
)

const (
	mostReceived = 1 << 16 // most bytes that the kernel joins (UDP_GRO)
	mostMessages = 16      // most messages that one call receives; packets of kernels are not joined
)

// receiver is the memory of a call that receives datagrams.
type receiver struct {
	fn    func(fd uintptr) bool // the method try, bound once
	loop  func(fd uintptr) bool // the method serve, bound once
	take  func([]wire.Datagrams) (more bool)
	msgs  [mostMessages]unix.Mmsghdr
	slots [mostMessages]receiverSlot
	list  [mostMessages]wire.Datagrams
	n     int
	errno unix.Errno
	calls int // system calls so far

	counts bool          // the system reports in missed how many datagrams found no room
	missed atomic.Uint32 // number of drops that the last received datagram reported
}

type receiverSlot struct {
	name    unix.RawSockaddrInet6 // source address, IPv4 or IPv6
	iov     unix.Iovec
	bytes   []byte
	control [64]byte
}

// newReceiver returns a receiver with room for size bytes of each message.
func newReceiver(size int) *receiver {
	x := new(receiver)
	x.fn, x.loop = x.try, x.serve
	memory := make([]byte, mostMessages*size) // the system allocates pages only when they are used
	for i := range x.slots {
		slot, h := &x.slots[i], &x.msgs[i].Hdr
		slot.bytes = memory[i*size : (i+1)*size]
		slot.iov.Base = &slot.bytes[0]
		slot.iov.SetLen(size)
		h.Name, h.Iov, h.Control = (*byte)(unsafe.Pointer(&slot.name)), &slot.iov, &slot.control[0]
		h.SetIovlen(1)
	}
	return x
}

// receive blocks until datagrams arrive, which are valid until the next call.
func (s *socket) receive() ([]wire.Datagrams, error) {
	x := s.ready()
	if err := s.await(x.fn); err != nil {
		return nil, err
	}
	return x.arrived(), nil
}

// serve gives take what arrives, each time in a list that is valid during the call, until take
// returns false.
//
// It calls the poller's Read once for all lists: at the beginning of each Read package net forgets
// that something has arrived, and has to ask the kernel first. Within the Read, serve waits
// without asking the kernel again if the kernel had less than serve asked for.
func (s *socket) serve(take func([]wire.Datagrams) (more bool)) error {
	s.ready().take = take
	return s.await(s.receiver.loop)
}

// ready returns the receiver, ready for a system call.
func (s *socket) ready() *receiver {
	if s.receiver == nil {
		s.receiver = newReceiver(mostReceived)
	}
	s.receiver.reset()
	return s.receiver
}

// await makes the poller call fn until that returns true.
func (s *socket) await(fn func(fd uintptr) bool) error {
	if err := s.rawConn().Read(fn); errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	} else if err != nil {
		return net.ErrClosed
	}
	if errno := s.receiver.errno; errno != 0 {
		return os.NewSyscallError("recvmmsg", errno)
	}
	return nil
}

// reset prepares the next system call.
func (x *receiver) reset() {
	for i := range x.msgs {
		h := &x.msgs[i].Hdr
		h.Namelen = uint32(unsafe.Sizeof(x.slots[i].name))
		h.SetControllen(len(x.slots[i].control))
	}
	x.n, x.errno = 0, 0
}

// serve is called by the poller, see socket.serve.
func (x *receiver) serve(fd uintptr) (done bool) {
	for x.try(fd) {
		if x.errno != 0 {
			return true
		}
		drained := x.n < mostMessages
		more := x.take(x.arrived())
		x.reset()
		if !more || drained {
			return !more
		}
	}
	return false
}

// arrived returns the datagrams that the last system call has brought.
func (x *receiver) arrived() []wire.Datagrams {
	raceReceive()
	list := x.list[:0]
	for i := range x.n {
		slot := &x.slots[i]
		if n := min(int(x.msgs[i].Len), len(slot.bytes)); n > 0 {
			control := slot.control[:x.msgs[i].Hdr.Controllen]
			if x.counts && len(control) > 0 {
				x.count(control)
			}
			size := segmentSize(control, n)
			list = append(list, wire.Datagrams{From: slot.sender(), Size: size, Bytes: slot.bytes[:n]})
		}
	}
	return list
}

// sender returns the address of the sender of a datagram, without a zone.
func (t *receiverSlot) sender() netip.AddrPort {
	port := binary.BigEndian.Uint16((*[2]byte)(unsafe.Pointer(&t.name.Port))[:])
	if t.name.Family == unix.AF_INET6 {
		return netip.AddrPortFrom(netip.AddrFrom16(t.name.Addr), port)
	}
	return netip.AddrPortFrom(netip.AddrFrom4((*unix.RawSockaddrInet4)(unsafe.Pointer(&t.name)).Addr), port)
}

// segmentSize returns the size of datagrams that the kernel has joined. If it has not joined any, the
// result is the argument whole. The socket requests no other control messages, so oob has nothing else.
func segmentSize(oob []byte, whole int) int {
	at := unix.CmsgLen(0)
	if len(oob) < at+4 || binary.NativeEndian.Uint32(oob[at-4:]) != unix.UDP_GRO || binary.NativeEndian.Uint32(oob[at-8:]) != ofUDP {
		return whole
	}
	return max(int(binary.NativeEndian.Uint32(oob[at:])), 1)
}

// try reads what is there; false tells the poller to wait and call again.
func (x *receiver) try(fd uintptr) bool {
	for {
		x.calls++
		n, _, errno := unix.RawSyscall6(unix.SYS_RECVMMSG, fd, uintptr(unsafe.Pointer(&x.msgs[0])), mostMessages, unix.MSG_DONTWAIT, 0, 0)
		if errno == unix.EINTR {
			continue
		}
		x.n, x.errno = int(n), errno
		return errno != unix.EAGAIN
	}
}
