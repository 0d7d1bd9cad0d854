package linkwatch

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// readSize is larger than any datagram that the kernel sends.
	readSize = 64 << 10
	// receiveBuffer is for bursts of changes, such as a thousand interfaces that go down.
	receiveBuffer = 1 << 20
)

// kernel is a socket of rtnetlink, connected to the kernel: no other process can send to it.
// Requests and answers pass ten times a second, so they allocate no memory.
type kernel struct {
	file *os.File
	raw  syscall.RawConn // the raw connection of file
	buf  []byte
	n    int                   // number of bytes of the last read
	err  error                 // error of the last read
	read func(fd uintptr) bool // the method value readOnce, made once
	peek func(fd uintptr)      // the method value for peeking, made once
}

func listen() (source, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("open a socket to watch links: %w", err)
	}
	k := &kernel{file: os.NewFile(uintptr(fd), "rtnetlink"), buf: make([]byte, readSize)}
	k.read, k.peek = k.readOnce, func(fd uintptr) { k.readOnce(fd) }
	if err = setUp(fd); err == nil {
		k.raw, err = k.file.SyscallConn()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listen for changes of links: %w", err), k.close())
	}
	return k, nil
}

// setUp subscribes a socket to the changes of links and addresses.
func setUp(fd int) error {
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, receiveBuffer) // the kernel may set a lower limit
	const groups = unix.RTMGRP_LINK | unix.RTMGRP_IPV4_IFADDR | unix.RTMGRP_IPV6_IFADDR
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: groups}); err != nil {
		return err
	}
	return unix.Connect(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
}

// receive returns messages that have arrived even if the instant has passed: the kernel
// answers requests under a lock that a process which makes or removes interfaces may hold for
// long.
func (k *kernel) receive(until time.Time) ([]byte, error) {
	if err := k.raw.Control(k.peek); err != nil {
		return nil, err
	}
	if k.err == unix.EAGAIN {
		if err := k.file.SetReadDeadline(until); err != nil {
			return nil, err
		}
		if err := k.raw.Read(k.read); errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, errLate
		} else if err != nil {
			return nil, err
		}
	}
	switch {
	case k.err == unix.ENOBUFS, k.err == nil && k.n == len(k.buf):
		return nil, errLost
	case k.err != nil:
		return nil, k.err
	}
	return k.buf[:k.n], nil
}

// readOnce reads without waiting, and reports whether there was something.
func (k *kernel) readOnce(fd uintptr) bool {
	for {
		if k.n, k.err = unix.Read(int(fd), k.buf); k.err != unix.EINTR {
			return k.err != unix.EAGAIN
		}
	}
}

func (k *kernel) send(requests []byte) error {
	_, err := k.file.Write(requests)
	return err
}

func (k *kernel) close() error { return k.file.Close() }
