package socklnd

import (
	"os"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// pollSet is an epoll instance with the sockets of all readers of a driver. It exists beside
// that of the Go runtime, in which readers block.
type pollSet struct {
	once   sync.Once
	file   *os.File // nil: the system gives none; closed with the driver, by the garbage collector
	fd     uintptr
	events [8]unix.EpollEvent // memory for events; used only by the reader that polls
}

// add adds a socket, which leaves when it is closed.
func (n *pollSet) add(fd uintptr) {
	n.once.Do(func() {
		if epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC); err == nil {
			n.fd, n.file = uintptr(epoll), os.NewFile(uintptr(epoll), "epoll")
		}
	})
	if n.file != nil {
		// Edge-triggered: data that a reader leaves in its socket interrupts the others once.
		e := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLET&(1<<32-1), Fd: int32(fd)}
		_ = unix.EpollCtl(int(n.fd), unix.EPOLL_CTL_ADD, int(fd), &e) // if this fails, the reader polls until the limit
	}
}

// look polls all sockets with one call. own says that the caller's socket has data, other
// that another one has.
func (n *pollSet) look(fd uintptr) (own, other bool) {
	if n.file == nil {
		return true, false // the caller will find the error when it reads
	}
	count, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, n.fd, uintptr(unsafe.Pointer(&n.events[0])), uintptr(len(n.events)), 0, 0, 0)
	if errno != 0 {
		return true, false
	}
	for _, e := range n.events[:count] {
		if e.Fd == int32(fd) {
			own = true
		} else {
			other = true
		}
	}
	return own, other
}

// spin polls until try has read something, another socket has data, or the limit is over. It
// calls try when the caller's socket has data. The caller has called begin.
func (p *polling) spin(fd uintptr, try func(fd uintptr) bool) bool {
	for began := time.Now(); time.Since(began) < p.limit; {
		_, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) // this system call cannot fail
		own, other := p.pollSet.look(fd)
		if own && try(fd) {
			return true
		}
		if other {
			return false
		}
	}
	return false
}
