package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
)

// Address is where a server listens. The zero value means that it does not listen.
type Address struct {
	Network string // tcp or unix
	Address string // host:port, or the path of the socket
}

// wants says what an address looks like.
const wants = "want PORT, ADDRESS:PORT, or the path of a Unix socket that begins with / or unix:"

// ParseAddress parses the address of a listener: a port alone, for which it uses 127.0.0.1; a port
// after an IP address or localhost; or the path of a Unix socket, which begins with / or unix:. It
// makes a path absolute. For the empty text it returns the zero Address.
func ParseAddress(s string) (Address, error) {
	path, socket := strings.CutPrefix(s, "unix:")
	switch {
	case s == "":
		return Address{}, nil
	case filepath.IsAbs(path):
		return Address{"unix", path}, nil
	case socket && path != "":
		path, err := filepath.Abs(path) // the next daemon knows the socket by an absolute path
		return Address{"unix", path}, err
	}
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		host, port = "", s
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || strconv.FormatUint(n, 10) != port {
		return Address{}, fmt.Errorf("%q: %s", s, wants)
	}
	if host == "" || host == "localhost" {
		host = "127.0.0.1"
	}
	if _, err := netip.ParseAddr(host); err != nil {
		return Address{}, fmt.Errorf("%q: %s", s, wants)
	}
	return Address{"tcp", net.JoinHostPort(host, port)}, nil
}

// Local reports whether only processes of this host can connect.
func (a Address) Local() bool {
	ap, err := netip.ParseAddrPort(a.Address)
	return a.Network == "unix" || err == nil && ap.Addr().Unmap().IsLoopback()
}

// Sockets makes listening sockets, or reuses those that an earlier process has opened.
type Sockets interface {
	// Listen returns a listener for TCP connections. A new socket gets the options in the argument how.
	Listen(how net.ListenConfig, local netip.AddrPort) (net.Listener, error)
	// ListenUnix returns a listener at a path, which fresh makes if there is none yet.
	ListenUnix(path string, fresh func(path string) (*net.UnixListener, error)) (*net.UnixListener, error)
}

// Listen opens the listener, with sockets if that is not nil. The names of the setting and of its
// flag appear in errors.
func (a Address) Listen(setting, flag string, sockets Sockets) (net.Listener, error) {
	if a.Network == "unix" {
		open := control.NewSocket
		if sockets != nil {
			open = func(path string) (*net.UnixListener, error) { return sockets.ListenUnix(path, control.NewSocket) }
		}
		return control.ListenAs(control.Purpose{Name: "socket of " + setting, Flag: flag}, a.Address, open)
	}
	l, err := a.listenTCP(sockets)
	if err == nil {
		return l, nil
	}
	errno, _ := errors.AsType[syscall.Errno](err)
	err = fmt.Errorf("%s: %w", setting, err)
	switch errno {
	case syscall.EADDRINUSE:
		return nil, cli.Hint(err, "another program has the port: choose another one with %s", flag)
	case syscall.EACCES:
		return nil, cli.Hint(err, "choose a port above 1023 with %s", flag)
	case syscall.EADDRNOTAVAIL:
		return nil, cli.Hint(err, "the address is not one of this machine: 'ip address' lists them; choose one with %s", flag)
	}
	return nil, cli.Hint(err, "choose another address with %s", flag)
}

// listenTCP listens for TCP connections alone: Go usually listens for Multipath TCP, too, whose
// sockets service managers do not hand over.
func (a Address) listenTCP(sockets Sockets) (net.Listener, error) {
	var how net.ListenConfig
	how.SetMultipathTCP(false)
	local, err := netip.ParseAddrPort(a.Address)
	if err != nil {
		return nil, err
	}
	if sockets != nil {
		return sockets.Listen(how, local)
	}
	return how.Listen(context.Background(), "tcp", a.Address)
}
