package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Sockets makes the sockets of this process so that they outlive it: the service manager keeps them
// in its store while no process runs (sd_pid_notify_with_fds(3)). In the meantime the kernel accepts
// connections and datagrams, which wait for the next process.
type Sockets struct {
	manager *Manager
	started atomic.Bool // Started was called
	forget  atomic.Bool // true: the manager is told to forget a socket that is closed; not guarded by mu, which a reload holds while it waits for the manager

	mu         sync.Mutex
	inherited  map[endpoint]*inherited // sockets that the manager has handed over; guarded by mu, like all below
	forgetting map[string]bool         // by name: sockets that the manager is to forget, and may still have open; false: the manager could not be told
}

// Sockets returns the sockets of this process, which has inherited some. It logs the inherited sockets
// that cannot be used, and makes the manager forget those of them that are in its store.
func (m *Manager) Sockets(in *Inherited) *Sockets {
	for _, err := range in.refused {
		m.log.Warn("socket of the service manager not used", slog.Any("err", err))
	}
	s := &Sockets{manager: m, inherited: in.at, forgetting: make(map[string]bool)}
	for _, name := range in.unusable() {
		s.removeLocked(name) // no other goroutine has s yet
	}
	return s
}

// Listen returns a TCP listener on an address: with the inherited socket of exactly this address,
// or with a new one, which goes to the manager's store. The keepalive settings in how have no effect on
// an inherited socket.
func (s *Sockets) Listen(how net.ListenConfig, local netip.AddrPort) (net.Listener, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if from := s.inherited[tcpAt(local)]; from != nil {
		return s.resume(from, how, local)
	}
	var l net.Listener
	err := s.bindLocked(tcpAt(local), func() (err error) {
		l, err = how.Listen(context.Background(), "tcp", local.String())
		return err
	})
	if err != nil {
		return nil, err
	}
	tcp := l.(*net.TCPListener)
	name := tcpAt(addressOf(tcp.Addr())).name()
	_ = s.manager.store(tcp, name) // store logs its errors
	return &listener{TCPListener: tcp, stored: name, sockets: s}, nil
}

// resume returns a listener with an inherited socket. The inherited descriptor of a socket of a socket
// unit stays open: the manager keeps such a socket bound, so only with this descriptor can the process
// listen on the address again. The caller holds s.mu.
func (s *Sockets) resume(from *inherited, how net.ListenConfig, local netip.AddrPort) (net.Listener, error) {
	l, err := net.FileListener(from.file)
	if err != nil {
		return nil, err
	}
	tcp := l.(*net.TCPListener)
	if err := setUp(how, "tcp", local, tcp); err != nil {
		return nil, errors.Join(err, tcp.Close())
	}
	return &listener{TCPListener: tcp, stored: s.useLocked(from, tcpAt(local)), sockets: s}, nil
}

// setUp sets the options in the argument how for a socket that exists.
func setUp(how net.ListenConfig, network string, local netip.AddrPort, of syscall.Conn) error {
	if how.Control == nil {
		return nil
	}
	rc, err := of.SyscallConn()
	if err != nil {
		return err
	}
	return how.Control(network, local.String(), rc)
}

// useLocked notes that an inherited socket is used, and returns its name in the manager's store. The
// caller holds s.mu.
func (s *Sockets) useLocked(from *inherited, at endpoint) (name string) {
	from.used = true
	s.manager.log.Info("listening on a socket of the service manager", slog.String("address", at.address))
	if !from.stored(at) {
		return ""
	}
	delete(s.inherited, at)
	_ = from.file.Close() // the listener or UDP socket made from it has its own descriptor
	return from.name
}

// Started is called when all sockets of the configuration exist. It closes inherited sockets that were
// not used. From now on Sockets tells the service manager (systemd) to drop its copy of each socket that is closed.
func (s *Sockets) Started() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started.Store(true)
	s.forget.Store(true)
	for at, from := range s.inherited {
		if from.used {
			continue
		}
		s.dropLocked(at, from, "nothing here listens on "+at.address)
		if at.network == "unix" && from.name == at.name() {
			_ = os.Remove(at.address) // after an error the file stays, and clients that connect are refused
		}
	}
}

// dropLocked closes an inherited socket and logs why. The manager forgets it if it is in its store. The
// caller holds s.mu.
func (s *Sockets) dropLocked(at endpoint, from *inherited, why string) {
	s.manager.log.Warn("socket of the service manager not used", slog.String("err", fmt.Sprintf("%q: %s", from.name, why)))
	delete(s.inherited, at)
	_ = from.file.Close() // an error loses nothing: no data was written
	if from.stored(at) {
		s.removeLocked(from.name)
	}
}

// Stopping is called when this process ends: the manager keeps its sockets for the next process. From
// now on closing a socket does not wait for the manager, even while a reload waits for it.
func (s *Sockets) Stopping() { s.forget.Store(false) }

// keepEarly is called before a socket is closed that is at an endpoint and has a name in the manager's store. Before
// Started the manager is not told to forget the socket, because the next process gets it if this start fails, so the
// address cannot be bound anew. The socket then counts as inherited: the process can listen on it again, as it does if an
// imported file has other tunables for an NI, and otherwise Started drops it.
func (s *Sockets) keepEarly(of interface{ File() (*os.File, error) }, at endpoint, name string) {
	if name == "" || s.manager.send == nil || s.started.Load() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started.Load() || s.inherited[at] != nil {
		return
	}
	file, err := of.File()
	if err != nil {
		s.manager.log.Warn("socket not kept for a second use", slog.String("address", at.address), slog.Any("err", err))
		return
	}
	s.inherited[at] = &inherited{file: file, name: name}
}

// closed is called after a socket was closed, with the error of closing it and the socket's name in the
// manager's store, and returns the error. Between Started and Stopping it makes the manager forget the
// socket.
func (s *Sockets) closed(err error, name string) error {
	if err != nil || name == "" || !s.forget.Load() {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.forget.Load() { // Stopping may have been called during a long wait for mu
		s.removeLocked(name)
	}
	return nil
}

// listener is a listener whose socket the manager has, too. Close closes this process's
// descriptor alone.
type listener struct {
	*net.TCPListener
	stored  string // name in the manager's store; "": the socket is not in the store
	sockets *Sockets
}

// Close implements [net.Listener].
func (l *listener) Close() error {
	l.sockets.keepEarly(l.TCPListener, tcpAt(addressOf(l.Addr())), l.stored)
	return l.sockets.closed(l.TCPListener.Close(), l.stored)
}

// store gives the manager a socket for its store, and tells it not to poll the socket for a hang-up,
// which such a socket never has (FDPOLL=0). It reports whether there is a manager and it got the socket.
func (m *Manager) store(from syscall.Conn, name string) bool {
	if m.send == nil {
		return false
	}
	rc, err := from.SyscallConn()
	if err == nil {
		controlErr := rc.Control(func(fd uintptr) {
			err = pass(m.address, "FDSTORE=1\nFDNAME="+name+"\nFDPOLL=0", int(fd), sendTimeout)
		})
		err = errors.Join(err, controlErr)
	}
	if err != nil {
		m.log.Warn("service manager does not keep a socket: a restart refuses connections", slog.String("name", name), slog.Any("err", err))
	}
	return err == nil
}

// pass sends a datagram with a file descriptor to the Unix socket of an address, as exchange does.
func pass(address, state string, fd int, limit time.Duration) error {
	return exchange(address, limit, func(c *net.UnixConn) error {
		rc, err := c.SyscallConn()
		if err != nil {
			return err
		}
		var sendErr error
		err = rc.Write(func(to uintptr) (done bool) { // not with WriteMsgUnix, which refuses sockets that are connected
			sendErr = unix.Sendmsg(int(to), []byte(state), unix.UnixRights(fd), nil, unix.MSG_NOSIGNAL)
			return sendErr != unix.EAGAIN
		})
		return errors.Join(err, os.NewSyscallError("sendmsg", sendErr))
	})
}
