package service

import (
	"fmt"
	"net"
	"os"
	"syscall"
)

// unixName begins the names of Unix sockets in the manager's store.
const unixName = "unix-"

// unixNameOf returns the name of the Unix socket at a path in the manager's store. It has device and
// inode, so that the next process knows whether that socket is still the one at the path; "": there
// is no file.
func unixNameOf(path string) string {
	info, err := os.Lstat(path)
	if err != nil {
		return ""
	}
	stat := info.Sys().(*syscall.Stat_t)
	return fmt.Sprintf("%s%x-%x", unixName, stat.Dev, stat.Ino)
}

// ListenUnix returns a listener at the path of a Unix socket: with the inherited socket of this path,
// if no other file has replaced it since, or with the socket that fresh makes, which goes to the
// manager's store. The file of a socket in the store stays when the listener is closed.
func (s *Sockets) ListenUnix(path string, fresh func(path string) (*net.UnixListener, error)) (*net.UnixListener, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if from := s.inherited[path]; from != nil && (!from.stored(path) || from.name == unixNameOf(path)) {
		l, err := net.FileListener(from.file) // it does not remove the file when it is closed
		if err != nil {
			return nil, err
		}
		s.useLocked(from, path)
		return l.(*net.UnixListener), nil
	}
	l, err := fresh(path)
	if err != nil {
		return nil, err
	}
	if s.manager.store(l, unixNameOf(path)) {
		l.SetUnlinkOnClose(false)
	}
	return l, nil
}
