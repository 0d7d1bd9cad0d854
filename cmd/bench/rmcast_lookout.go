package main

import (
	"errors"
	"io"
	"os"
	"syscall"
	"time"
)

// lookout reads from a socket. It can poll for a while before it waits.
type lookout struct {
	rc    syscall.RawConn
	fn    func(fd uintptr) bool // the method try, as a func value that is allocated only once
	look  time.Duration
	bytes []byte
	room  []byte // the part of the buffer that the next read may fill
	n     int
	err   error
}

func (l *lookout) open(c syscall.Conn, size int) {
	l.rc, l.bytes, l.fn = must(c.SyscallConn()), make([]byte, size), l.try
}

// read reads once. The result is valid until the next call.
func (l *lookout) read(look time.Duration) ([]byte, error) {
	l.look, l.room = look, l.bytes
	err := l.once()
	return l.bytes[:l.n], err
}

// readFull reads size bytes.
func (l *lookout) readFull(size int, look time.Duration) error {
	l.look = look
	for l.room = l.bytes[:size]; len(l.room) > 0; l.room = l.room[l.n:] {
		if err := l.once(); err != nil {
			return err
		}
		if l.n == 0 {
			return io.ErrUnexpectedEOF
		}
	}
	return nil
}

func (l *lookout) once() error {
	l.n, l.err = 0, nil
	if err := l.rc.Read(l.fn); err != nil {
		return err
	}
	return l.err
}

// try reads once. If it returns false, the Go runtime's poller waits until the socket is
// readable, and calls it again.
func (l *lookout) try(fd uintptr) bool {
	var began time.Time
	for {
		var err error
		if l.n, err = syscall.Read(int(fd), l.room); err == nil {
			return true
		}
		l.n = 0
		if !errors.Is(err, syscall.EAGAIN) && !errors.Is(err, syscall.EINTR) {
			l.err = os.NewSyscallError("read", err)
			return true
		}
		switch {
		case l.look == 0:
			return false
		case began.IsZero():
			began = time.Now()
		case time.Since(began) > l.look:
			return false
		}
		_, _, _ = syscall.RawSyscall(syscall.SYS_SCHED_YIELD, 0, 0, 0) // sched_yield never fails
	}
}
