package socklnd

import (
	"os"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// pollSet is an epoll instance with the sockets of all readers of a driver. It exists beside the
// epoll instance of the Go runtime, in which readers block.
type pollSet struct {
	once   sync.Once
	file   *os.File // the epoll instance, nil if the system made none; the garbage collector closes it after the end of the driver
	fd     uintptr
	events [8]unix.EpollEvent // memory for events; used only by the reader that polls
}

// add adds a socket. The operating system removes the socket when it is closed.
func (n *pollSet) add(fd uintptr) {
	n.once.Do(func() {
		if epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC); err == nil {
			n.fd, n.file = uintptr(epoll), os.NewFile(uintptr(epoll), "epoll")
		}
	})
	if n.file != nil {
		// All readers poll this epoll instance. It is edge-triggered: data that one reader leaves in its
		// socket wakes the other readers once, not again and again.
		e := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLET&(1<<32-1), Fd: int32(fd)}
		_ = unix.EpollCtl(int(n.fd), unix.EPOLL_CTL_ADD, int(fd), &e) // if this fails, the reader polls until the limit
	}
}

// look reports, with one system call, whether a socket other than the caller's has data.
func (n *pollSet) look(fd uintptr) (other bool) {
	if n.file == nil {
		return false
	}
	count, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, n.fd, uintptr(unsafe.Pointer(&n.events[0])), uintptr(len(n.events)), 0, 0, 0)
	for i := range n.events[:max(int(count), 0)] {
		other = other || errno == 0 && n.events[i].Fd != int32(fd)
	}
	return other
}

// spin polls until try has read something, another socket has data, or the limit is over. It reports
// whether try has read something. The caller has called begin.
func (p *polling) spin(fd uintptr, try func(fd uintptr) bool) bool {
	for began := time.Now(); time.Since(began) < p.limit; {
		_, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) // this system call cannot fail
		if try(fd) {
			return true
		}
		if p.pollSet.look(fd) {
			return false
		}
	}
	return false
}

// mutedBytes is how much data has to arrive on a muted socket (see mute) before the kernel wakes
// the poller: more than a small message. It is so small that the kernel need not enlarge the
// receive buffer for it.
const mutedBytes = 32 << 10

// mute makes the arrival of data wake no thread (SO_RCVLOWAT). Sockets are in the poller of the
// Go runtime for good, and an idle thread of the process sleeps there: each message would wake
// that thread, although the reader polls. The socket stays muted while the reader handles the
// message, until it has to wait.
func (s *rawStream) mute(fd uintptr) {
	if !s.muted {
		s.muted = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVLOWAT, mutedBytes) == nil
	}
}

// unmute undoes mute, and reports whether there was anything to undo. Then the caller has to read
// again: before Linux 4.18 data that had arrived on the muted socket does not wake the poller.
func (s *rawStream) unmute(fd uintptr) bool {
	if !s.muted {
		return false
	}
	s.muted = false
	_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVLOWAT, 1) // fails only if the socket is closed
	return true
}
