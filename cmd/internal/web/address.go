package web

import (
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
// after an IP address or localhost; or the path of a Unix socket, which begins with / or unix:. For
// the empty text it returns the zero Address.
func ParseAddress(s string) (Address, error) {
	path, socket := strings.CutPrefix(s, "unix:")
	switch {
	case s == "":
		return Address{}, nil
	case socket && path != "" || filepath.IsAbs(s):
		return Address{"unix", path}, nil
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

// Listen opens the listener. The names of the setting and of its flag appear in errors.
func (a Address) Listen(setting, flag string) (net.Listener, error) {
	if a.Network == "unix" {
		return control.ListenAs(control.Purpose{Name: "socket of " + setting, Flag: flag}, a.Address)
	}
	l, err := net.Listen("tcp", a.Address)
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
