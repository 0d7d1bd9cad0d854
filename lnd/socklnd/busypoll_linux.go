package socklnd

import (
	"os"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// nest is an epoll instance with the sockets of all readers of a driver, beside that of
// the runtime, on which readers wait.
type nest struct {
	once   sync.Once
	file   *os.File // nil: the system gives none; closed with the driver, by the garbage collector
	fd     uintptr
	events [8]unix.EpollEvent // owned by the reader that looks
}

// add adds a socket, which leaves when it is closed.
func (n *nest) add(fd uintptr) {
	n.once.Do(func() {
		if epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC); err == nil {
			n.fd, n.file = uintptr(epoll), os.NewFile(uintptr(epoll), "epoll")
		}
	})
	if n.file != nil {
		// Edge-triggered: what a reader leaves in its socket stops the others once.
		e := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLET&(1<<32-1), Fd: int32(fd)}
		_ = unix.EpollCtl(int(n.fd), unix.EPOLL_CTL_ADD, int(fd), &e) // without it the reader looks until the limit
	}
}

// look looks at all sockets with one call: whether there is something in that of the
// caller, and in another one.
func (n *nest) look(fd uintptr) (own, other bool) {
	if n.file == nil {
		return true, false // to be seen by reading
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

// spin calls try as soon as there is something in a socket, until try says that it has
// read, another socket has something, or the limit is over. The caller has begun.
func (p *polling) spin(fd uintptr, try func(fd uintptr) bool) bool {
	for began := time.Now(); time.Since(began) < p.limit; {
		_, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) // cannot fail
		own, other := p.nest.look(fd)
		if own && try(fd) {
			return true
		}
		if other {
			return false
		}
	}
	return false
}
