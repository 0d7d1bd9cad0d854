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

// maxIovecs is the most that one system call takes (IOV_MAX).
const maxIovecs = 1024

// rawStream is the stream over a socket: readv and writev on the descriptor,
// and the runtime's poller for waiting. A waiting reader holds no buffer. The
// functions for the poller are bound once, so that nothing is allocated for a
// read or write.
type rawStream struct {
	rc syscall.RawConn

	// The arguments and results of the read in progress.
	readFn  func(fd uintptr) bool
	rvec    *vector
	rbuf    *readBuffer // of an idle read
	rlimit  int         // of an idle read; 0: rvec is the target
	rn      int
	rerr    syscall.Errno
	writeFn func(fd uintptr) bool // and of the write
	wvec    *vector
	wwait   bool
	wn      int
	werr    syscall.Errno
}

// newRawStream returns nil if c is no socket.
func newRawStream(c net.Conn) stream {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	rc, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	s := &rawStream{rc: rc}
	s.readFn, s.writeFn = s.tryRead, s.tryWrite
	return s
}

func (s *rawStream) readIdle(limit int) (*readBuffer, int, error) {
	s.rlimit = limit
	n, err := s.read()
	buf := s.rbuf
	s.rbuf = nil
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

// tryRead reads once; false tells the poller to wait and call again.
func (s *rawStream) tryRead(fd uintptr) bool {
	if s.rlimit > 0 {
		s.rbuf = getReadBuffer()
		s.rn, s.rerr = sysRead(fd, s.rbuf.bytes[:s.rlimit])
		if s.rerr == unix.EAGAIN {
			s.rbuf.release()
			s.rbuf = nil
		}
	} else {
		s.rn, s.rerr = sysVector(unix.SYS_READV, fd, s.rvec.iov)
	}
	return s.rerr != unix.EAGAIN
}

func (s *rawStream) writev(v *vector, wait bool) (int, error) {
	s.wvec, s.wwait, s.wn, s.werr = v, wait, 0, 0
	v.fill()
	raceWrite()
	err := s.rc.Write(s.writeFn)
	s.wvec = nil
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
	s.wn, s.werr = sysVector(unix.SYS_WRITEV, fd, s.wvec.iov)
	return s.werr != unix.EAGAIN || !s.wwait
}

// fill translates the pieces that are left for the system.
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

// sysVector is readv or writev.
func sysVector(trap, fd uintptr, iov []iovec) (int, syscall.Errno) {
	for {
		n, _, errno := unix.Syscall(trap, fd, uintptr(unsafe.Pointer(&iov[0])), uintptr(len(iov)))
		switch errno {
		case 0:
			return int(n), 0
		case unix.EINTR:
		default:
			return 0, errno
		}
	}
}

func sysRead(fd uintptr, b []byte) (int, syscall.Errno) {
	for {
		n, _, errno := unix.Syscall(unix.SYS_READ, fd, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
		switch errno {
		case 0:
			return int(n), 0
		case unix.EINTR:
		default:
			return 0, errno
		}
	}
}
