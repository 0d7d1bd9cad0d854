package linkwatch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/mdlayher/socket"
	"golang.org/x/sys/unix"
)

const (
	// readSize is more than the kernel says at once.
	readSize = 64 << 10
	// receiveBuffer is for bursts of changes, such as a thousand interfaces that go down.
	receiveBuffer = 1 << 20
)

// kernel is a socket of rtnetlink.
type kernel struct {
	conn *socket.Conn
	buf  []byte
}

func listen() (source, error) {
	conn, err := socket.Socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE, "rtnetlink", nil)
	if err != nil {
		return nil, fmt.Errorf("open a socket to watch links: %w", err)
	}
	_ = conn.SetReadBuffer(receiveBuffer) // the kernel's limit counts
	const groups = unix.RTMGRP_LINK | unix.RTMGRP_IPV4_IFADDR | unix.RTMGRP_IPV6_IFADDR
	if err := conn.Bind(&unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: groups}); err != nil {
		return nil, errors.Join(fmt.Errorf("listen for changes of links: %w", err), conn.Close())
	}
	return &kernel{conn, make([]byte, readSize)}, nil
}

func (k *kernel) receive(until time.Time) ([]byte, error) {
	if err := k.conn.SetReadDeadline(until); err != nil {
		return nil, err
	}
	n, from, err := k.conn.Recvfrom(context.Background(), k.buf, unix.MSG_TRUNC)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, errLate
	case errors.Is(err, unix.ENOBUFS), err == nil && n > len(k.buf):
		return nil, errLost
	case err != nil:
		return nil, err
	}
	if a, ok := from.(*unix.SockaddrNetlink); !ok || a.Pid != 0 { // of another process
		return nil, errLate
	}
	return k.buf[:n], nil
}

func (k *kernel) send(requests []byte) error {
	return k.conn.Sendto(context.Background(), requests, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
}

func (k *kernel) close() error { return k.conn.Close() }
