package socklnd

import (
	"os"
	"sync"
	"sync/atomic"
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
	missed atomic.Bool        // the system did not add some socket
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
		if unix.EpollCtl(int(n.fd), unix.EPOLL_CTL_ADD, int(fd), &e) != nil {
			n.missed.Store(true) // readers then read in each round
		}
	}
}

// look reports, with one system call, whether the caller's socket and whether another one has had news since the last
// call.
func (n *pollSet) look(fd uintptr) (own, other bool) {
	if n.file == nil {
		return true, false // only a read can tell
	}
	count, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, n.fd, uintptr(unsafe.Pointer(&n.events[0])), uintptr(len(n.events)), 0, 0, 0)
	if errno != 0 {
		return true, false
	}
	for i := range n.events[:count] {
		mine := n.events[i].Fd == int32(fd)
		own, other = own || mine, other || !mine
	}
	return own || n.missed.Load(), other
}

// spin polls until try has read something, another socket has data, or the limit is over. It reports
// whether try has read something. It reads in its first round, because another reader's round may have taken the news of
// this socket, and then only when there is news, which saves a system call in each round. The caller has called begin.
func (p *polling) spin(fd uintptr, try func(fd uintptr) bool) bool {
	began := time.Now()
	for first := true; first || time.Since(began) < p.limit; first = false {
		_, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) // this system call cannot fail
		own, other := p.pollSet.look(fd)
		if (own || first) && try(fd) {
			return true
		}
		if other {
			return false
		}
	}
	return false
}
