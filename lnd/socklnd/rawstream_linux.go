package socklnd

import (
	"io"
	"net"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

type iovec = unix.Iovec

// maxIovecs is the largest number of pieces that one system call takes (IOV_MAX).
const maxIovecs = 1024

// rawStream is the stream over a socket: readv and writev on the descriptor,
// and the runtime's poller for waiting. A waiting reader holds no buffer. The
// functions for the poller are bound once, so that nothing is allocated for a
// read or write.
type rawStream struct {
	rc   syscall.RawConn
	poll *polling

	// The function that reads, and the arguments and results of the read in progress.
	readFn  func(fd uintptr) bool
	tryFn   func(fd uintptr) bool // tryRead; readFn calls it while it busy-polls
	rvec    *vector
	rsmall  []byte      // buffer for a small read while idle
	rbuf    *readBuffer // buffer for a large read while idle
	rlimit  int         // limit of a read while idle, in bytes; 0: not idle, read to rvec
	rn      int
	rerr    syscall.Errno
	writeFn func(fd uintptr) bool // the function that writes; the next fields are its arguments and results
	wsmall  []byte                // bytes to write; nil: wvec has them
	wvec    *vector
	wwait   bool
	wn      int
	werr    syscall.Errno
}

// newRawStream makes a stream; nil if c is no socket.
func newRawStream(c net.Conn, poll *polling) stream {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	rc, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	s := &rawStream{rc: rc, poll: poll}
	s.readFn, s.writeFn = s.tryRead, s.tryWrite
	if poll.limit > 0 {
		s.readFn, s.tryFn = s.pollRead, s.tryRead
		_ = rc.Control(poll.pollSet.add) // a socket that is closed already cannot be added
	}
	return s
}

func (s *rawStream) interruptible() bool { return true }

func (s *rawStream) readIdle(small []byte, limit int) (*readBuffer, int, error) {
	s.rsmall, s.rlimit = small, limit
	n, err := s.read()
	buf := s.rbuf
	s.rbuf, s.rsmall = nil, nil
	if err != nil && buf != nil {
		buf.release()
		buf = nil
	}
	return buf, n, err
}

func (s *rawStream) readv(v *vector) (int, error) {
	s.rvec, s.rlimit = v, 0
	v.fill()
	n, err := s.read()
	s.rvec = nil
	return n, err
}

func (s *rawStream) read() (int, error) {
	s.rn, s.rerr = 0, 0
	if err := s.rc.Read(s.readFn); err != nil {
		return 0, err
	}
	switch {
	case s.rerr != 0:
		return 0, os.NewSyscallError("readv", s.rerr)
	case s.rn == 0:
		return 0, io.EOF
	}
	raceRead()
	return s.rn, nil
}

// tryRead reads once; false tells the poller to wait and call again. The stack of a waiting reader
// is deepest in the calls below tryRead: one frame more would double the stack, which costs 2 KiB
// for every idle connection.
func (s *rawStream) tryRead(fd uintptr) bool {
	switch {
	case s.rlimit == 0:
		s.rn, s.rerr = sysVector(unix.SYS_READV, fd, s.rvec.iov, s.rvec.total)
	case s.rlimit <= len(s.rsmall):
		s.rn, s.rerr = sysSmall(unix.SYS_READ, fd, s.rsmall[:s.rlimit])
	default:
		s.rbuf = getReadBuffer()
		s.rn, s.rerr = sysSmall(unix.SYS_READ, fd, s.rbuf.bytes[:s.rlimit])
		if s.rerr == unix.EAGAIN {
			s.rbuf.release()
			s.rbuf = nil
		}
	}
	return s.rerr != unix.EAGAIN
}

// pollRead is like tryRead, but if no data is there it tries again for a short time before it lets
// the poller wait.
func (s *rawStream) pollRead(fd uintptr) bool {
	there := s.tryRead(fd)
	if there || s.rlimit == 0 || !s.poll.begin() {
		return there
	}
	defer s.poll.end()
	return s.poll.spin(fd, s.tryFn)
}

func (s *rawStream) write(b []byte) (int, error) {
	s.wsmall = b
	n, err := s.writeOnce(false)
	s.wsmall = nil
	return n, err
}

func (s *rawStream) writev(v *vector, wait bool) (int, error) {
	s.wvec = v
	v.fill()
	n, err := s.writeOnce(wait)
	s.wvec = nil
	return n, err
}

// writeOnce writes wsmall or wvec by one system call.
func (s *rawStream) writeOnce(wait bool) (int, error) {
	s.wwait, s.wn, s.werr = wait, 0, 0
	raceWrite()
	err := s.rc.Write(s.writeFn)
	switch {
	case err != nil:
		return 0, err
	case s.werr == unix.EAGAIN:
		return 0, nil
	case s.werr != 0:
		return 0, os.NewSyscallError("writev", s.werr)
	}
	return s.wn, nil
}

// tryWrite writes once; false tells the poller to wait and call again.
func (s *rawStream) tryWrite(fd uintptr) bool {
	if s.wsmall != nil {
		s.wn, s.werr = sysSmall(unix.SYS_WRITE, fd, s.wsmall)
	} else {
		s.wn, s.werr = sysVector(unix.SYS_WRITEV, fd, s.wvec.iov, s.wvec.total)
	}
	return s.werr != unix.EAGAIN || !s.wwait
}

func (s *rawStream) awaitHangUp() bool {
	return s.rc.Read(hungUp) == nil
}

func (s *rawStream) unread() bool {
	there := true
	_ = s.rc.Control(func(fd uintptr) { there = polled(fd, unix.POLLIN) }) // an error means that the socket is closed; its end counts as unread
	return there
}

// hungUp asks the system whether the other end has hung up; false tells the
// poller to wait for the next change and call again.
func hungUp(fd uintptr) bool { return polled(fd, unix.POLLRDHUP) }

// polled reports whether one of the events, or an error, is pending.
func polled(fd uintptr, events int16) bool {
	p := []unix.PollFd{{Fd: int32(fd), Events: events}}
	for {
		n, err := unix.Poll(p, 0)
		if err != unix.EINTR {
			return n > 0
		}
	}
}

// fill makes iov describe the pieces that are left, for the system call.
func (v *vector) fill() {
	v.iov = v.iov[:0]
	left := v.left()
	for _, p := range left[:min(len(left), maxIovecs)] {
		var e iovec
		e.Base = &p[0]
		e.SetLen(len(p))
		v.iov = append(v.iov, e)
	}
}

// quick is the largest read or write in bytes that is made as a raw system call, without telling
// the Go scheduler. Any single message is shorter. The call does not block, because the socket is
// non-blocking. Telling the scheduler costs a tenth of the round trip of a small message. It costs
// a tenth of the CPU time of a large one, because after 20 µs of copying the scheduler starts
// another thread.
const quick = 2 << 20

// sysVector calls readv or writev for total bytes.
func sysVector(trap, fd uintptr, iov []iovec, total int) (int, syscall.Errno) {
	call := unix.Syscall
	if total <= quick {
		call = unix.RawSyscall
	}
	for {
		n, _, errno := call(trap, fd, uintptr(unsafe.Pointer(&iov[0])), uintptr(len(iov)))
		switch errno {
		case 0:
			return int(n), 0
		case unix.EINTR:
		default:
			return 0, errno
		}
	}
}

// sysSmall makes the system call read or write with at most quick bytes.
func sysSmall(trap, fd uintptr, b []byte) (int, syscall.Errno) {
	for {
		n, _, errno := unix.RawSyscall(trap, fd, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
		switch errno {
		case 0:
			return int(n), 0
		case unix.EINTR:
		default:
			return 0, errno
		}
	}
}
