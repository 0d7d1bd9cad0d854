package service

import "net"

// ListenUnix returns a listener at the path of a Unix socket: with the inherited socket of this path,
// if no other file has replaced it since, or with the socket that fresh makes, which goes to the
// manager's store. The file of a socket in the store stays when the listener is closed.
func (s *Sockets) ListenUnix(path string, fresh func(path string) (*net.UnixListener, error)) (*net.UnixListener, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := unixAt(path)
	if from := s.inherited[at]; from != nil && (!from.stored(at) || from.name == at.name()) {
		l, err := net.FileListener(from.file) // it does not remove the file when it is closed
		if err != nil {
			return nil, err
		}
		s.useLocked(from, at)
		return l.(*net.UnixListener), nil
	}
	l, err := fresh(path)
	if err != nil {
		return nil, err
	}
	if s.manager.store(l, at.name()) {
		l.SetUnlinkOnClose(false)
	}
	return l, nil
}
