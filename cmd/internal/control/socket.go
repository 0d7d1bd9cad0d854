package control

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"ulnet/cmd/internal/cli"
)

// socketMode allows the owner and the group to connect.
const socketMode = 0o660

// maxSocketPath is the longest path of a Unix socket in bytes (struct
// sockaddr_un).
const maxSocketPath = 107

// ErrRunning means that another daemon has the socket.
var ErrRunning = errors.New("another daemon answers there")

// Socket is a listening Unix socket. Close removes it.
type Socket struct {
	path string

	mu       sync.Mutex
	listener *net.UnixListener // replaced by Renew; guarded by mu, like all below
	info     fs.FileInfo       // the file of the listener; nil: not known
	lock     *os.File          // holds the flock of the path
	closed   bool
}

// Purpose is what a socket is for, in errors.
type Purpose struct {
	Name string // name of the socket, such as "control socket"
	Flag string // flag of lnetd that has the path of the socket
}

// Listen creates the control socket. It replaces the socket of a daemon that has died; if the
// daemon still runs, Listen returns ErrRunning. A lock file, the path with ".lock" appended,
// remains after Close.
func Listen(path string) (*Socket, error) {
	return ListenAs(Purpose{"control socket", "--socket"}, path, NewSocket)
}

// ListenAs is Listen for a socket that is not a control socket. The purpose p appears in errors. The
// function open, such as [NewSocket], makes the listener; it is called while the path is locked.
func ListenAs(p Purpose, path string, open func(path string) (*net.UnixListener, error)) (*Socket, error) {
	if len(path) > maxSocketPath {
		return nil, cli.Hint(fmt.Errorf("%s %s: path longer than %d bytes", p.Name, path, maxSocketPath),
			"choose a shorter one with %s or --runtime-dir", p.Flag)
	}
	lock, err := lockPath(lockName(path))
	if err != nil {
		return nil, p.explain(path, err)
	}
	l, err := open(path)
	if err != nil {
		_ = lock.Close()
		return nil, p.explain(path, err)
	}
	return newSocket(path, l, lock), nil
}

func newSocket(path string, l *net.UnixListener, lock *os.File) *Socket {
	info, _ := os.Lstat(path) // after an error the socket is gone already, and info is nil
	return &Socket{path: path, listener: l, info: info, lock: lock}
}

// Accept implements net.Listener.
func (s *Socket) Accept() (net.Conn, error) {
	for {
		l := s.current()
		if c, err := l.Accept(); err == nil || l == s.current() {
			return c, err
		}
	}
}

// current returns the listener, which Renew replaces.
func (s *Socket) current() *net.UnixListener {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listener
}

// Addr implements net.Listener.
func (s *Socket) Addr() net.Addr { return s.current().Addr() }

// Close stops listening, removes the socket unless its UnlinkOnClose is off or another file is in its place, and
// releases the lock of its path.
func (s *Socket) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if info, err := os.Lstat(s.path); err != nil || s.info == nil || !os.SameFile(info, s.info) {
		s.listener.SetUnlinkOnClose(false)
	}
	return errors.Join(s.listener.Close(), s.lock.Close())
}

// lockName returns the name of the lock file for the path of a socket.
func lockName(path string) string { return path + ".lock" }

// lockPath takes a lock that the kernel releases when the process ends.
func lockPath(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = ErrRunning
		}
		return nil, err
	}
	return f, nil
}

// NewSocket listens at a path, to which the owner and the group may connect. It replaces a socket on
// which no process listens.
func NewSocket(path string) (*net.UnixListener, error) {
	if err := removeDead(path); err != nil {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, socketMode); err != nil {
		_ = l.Close()
		return nil, err
	}
	return l, nil
}

// removeDead removes a socket that no process listens on.
func removeDead(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != os.ModeSocket {
		return errors.New("there is a file that is not a socket")
	}
	c, err := net.Dial("unix", path)
	if err == nil {
		_ = c.Close()
		return ErrRunning
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return err
	}
	return os.Remove(path)
}

// explain adds to an error what to do about it.
func (p Purpose) explain(path string, err error) error {
	err = fmt.Errorf("%s %s: %w", p.Name, path, err)
	switch {
	case errors.Is(err, ErrRunning):
		return cli.Hint(err, "stop it, or choose another socket with %s", p.Flag)
	case errors.Is(err, os.ErrPermission):
		return cli.Hint(err, "choose a directory of yours with --runtime-dir, or another socket with %s", p.Flag)
	}
	return cli.Hint(err, "choose another socket with %s", p.Flag)
}
