package service

import "net"

// ListenUnix returns a listener at the path of a Unix socket: with the inherited socket that clients
// reach there, or with the socket that fresh makes, which goes to the manager's store. The file of a
// socket in the store stays when the listener is closed.
func (s *Sockets) ListenUnix(path string, fresh func(path string) (*net.UnixListener, error)) (*net.UnixListener, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, from := s.reachedLocked(path); from != nil {
		l, err := net.FileListener(from.file) // a listener of FileListener does not remove the socket's file when it is closed
		if err != nil {
			return nil, err
		}
		s.useLocked(from, at)
		return l.(*net.UnixListener), nil
	}
	s.dropUnreachableLocked()
	_ = s.awaitForgotten(barrierTimeout) // barrier logs its errors
	l, err := fresh(path)
	if err != nil {
		return nil, err
	}
	name := unixAt(path).name()
	delete(s.forgetting, name) // in case an earlier socket, whose file had the same inode, had this name: the manager must keep the new one
	if s.manager.store(l, name) {
		l.SetUnlinkOnClose(false)
	}
	return l, nil
}

// reachedLocked returns the inherited socket that clients reach at a path, and where it was bound:
// that may be another path to the same file, such as one by way of a symbolic link. It returns nil if
// there is none. The caller holds s.mu.
func (s *Sockets) reachedLocked(path string) (endpoint, *inherited) {
	wanted := unixAt(path)
	name := wanted.name()
	if from := s.inherited[wanted]; from != nil && !from.stored(wanted) {
		return wanted, from
	}
	for at, from := range s.inherited {
		if at.network == "unix" && name != "" && name == from.fileName(at) {
			return at, from
		}
	}
	return endpoint{}, nil
}

// fileName returns the name, as [endpoint.name] forms it, of the file that a Unix socket made when it was
// bound. For a stored socket this is i.name; for another one, the name of the file that is there now.
func (i *inherited) fileName(at endpoint) string {
	if i.stored(at) {
		return i.name
	}
	return at.name()
}

// dropUnreachableLocked drops the sockets of the store that no client reaches any more. Otherwise the
// file of a new socket may get the inode of an old one, and with it the old one's name in the store. The
// caller holds s.mu.
func (s *Sockets) dropUnreachableLocked() {
	for at, from := range s.inherited {
		if at.network == "unix" && from.stored(at) && from.name != at.name() {
			s.dropLocked(at, from, "its file was removed or replaced")
		}
	}
}
