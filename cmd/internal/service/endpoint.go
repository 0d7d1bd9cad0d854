package service

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// endpoint is where a socket listens, or receives datagrams.
type endpoint struct {
	network string // tcp, udp or unix
	address string // IP address and port, or a path
}

func tcpAt(local netip.AddrPort) endpoint { return endpoint{"tcp", local.String()} }
func udpAt(local netip.AddrPort) endpoint { return endpoint{"udp", local.String()} }
func unixAt(path string) endpoint         { return endpoint{"unix", path} }

// name returns the name of a socket in the manager's store, in which colons are not allowed. That of
// a Unix socket has device and inode of its file, so that the next process knows whether this socket
// is still the one at the path; "": there is no file.
func (e endpoint) name() string {
	if e.network != "unix" {
		return e.network + "-" + strings.ReplaceAll(e.address, ":", "_")
	}
	info, err := os.Lstat(e.address)
	if err != nil {
		return ""
	}
	stat := info.Sys().(*syscall.Stat_t)
	return fmt.Sprintf("unix-%x-%x", stat.Dev, stat.Ino)
}

// addressOf returns the address of a socket of TCP or UDP.
func addressOf(a net.Addr) netip.AddrPort {
	var ap netip.AddrPort
	switch a := a.(type) {
	case *net.TCPAddr:
		ap = a.AddrPort()
	case *net.UDPAddr:
		ap = a.AddrPort()
	}
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
}

// endpointOf returns the endpoint of a socket that a process can use: a listening TCP socket, a listening Unix
// socket with a path, or a UDP socket without a peer.
func endpointOf(fd int, file *os.File) (endpoint, error) {
	network, err := networkOf(fd)
	if err != nil {
		return endpoint{}, err
	}
	if network == "udp" {
		c, err := net.FilePacketConn(file)
		if err != nil {
			return endpoint{}, err
		}
		defer c.Close()
		return udpAt(addressOf(c.LocalAddr())), nil
	}
	l, err := net.FileListener(file)
	if err != nil {
		return endpoint{}, err
	}
	defer l.Close()
	if network == "tcp" {
		return tcpAt(addressOf(l.Addr())), nil
	}
	if path := l.Addr().String(); filepath.IsAbs(path) {
		return unixAt(path), nil
	}
	return endpoint{}, errors.New("a Unix socket without a path")
}

// networkOf returns the network of a socket that a process can use.
func networkOf(fd int) (string, error) {
	var got [4]int
	for i, option := range []int{unix.SO_DOMAIN, unix.SO_TYPE, unix.SO_PROTOCOL, unix.SO_ACCEPTCONN} {
		var err error
		if got[i], err = unix.GetsockoptInt(fd, unix.SOL_SOCKET, option); err != nil {
			return "", os.NewSyscallError("getsockopt", err)
		}
	}
	domain, kind, protocol, listens := got[0], got[1], got[2], got[3] == 1
	switch {
	case protocol == unix.IPPROTO_UDP:
		if _, err := unix.Getpeername(fd); err == nil {
			return "", errors.New("a UDP socket with a peer")
		}
		return "udp", nil
	case kind != unix.SOCK_STREAM || domain != unix.AF_UNIX && protocol != unix.IPPROTO_TCP:
		return "", errors.New("neither a TCP nor a UDP socket, nor a stream at a path")
	case !listens:
		return "", errors.New("does not listen")
	case domain == unix.AF_UNIX:
		return "unix", nil
	}
	return "tcp", nil
}
