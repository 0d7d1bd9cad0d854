package control

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"time"
)

// errReplaced means that another file is in the place of the socket, such as the socket of another daemon.
var errReplaced = errors.New("another file or socket is in its place")

// Renew makes the socket again if its file was removed, such as by a program that removes old files: clients could
// not reach the daemon any more, although it runs. It reports whether it has made the socket. If another file is in
// its place, Renew leaves that there, and returns an error. Only one goroutine may call Renew.
func (s *Socket) Renew() (made bool, err error) {
	info, err := os.Lstat(s.path)
	switch {
	case err == nil && s.is(info):
		return false, nil
	case err == nil:
		return false, errReplaced
	case !errors.Is(err, fs.ErrNotExist):
		return false, err
	}
	lock, err := s.relock()
	if err != nil {
		return false, err
	}
	l, err := NewSocket(s.path)
	if err != nil {
		s.setLock(lock)
		return false, err
	}
	s.replace(newSocket(s.path, l, lock))
	return true, nil
}

// is reports whether a file is that of the listener. The listener keeps the inode, so that no other file gets its number.
func (s *Socket) is(info fs.FileInfo) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.info != nil && os.SameFile(s.info, info)
}

// relock returns the lock of the path, which is a new one if the lock file was removed, too.
func (s *Socket) relock() (*os.File, error) {
	s.mu.Lock()
	held := s.lock
	s.mu.Unlock()
	own, err := held.Stat()
	if err != nil {
		return nil, err
	}
	if info, err := os.Lstat(lockName(s.path)); err == nil && os.SameFile(own, info) {
		return held, nil
	}
	return lockPath(lockName(s.path))
}

// replace takes the listener and the lock of another Socket for the same path, and closes its own.
func (s *Socket) replace(by *Socket) {
	s.setLock(by.lock)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = by.listener.Close()
		return
	}
	s.listener.SetUnlinkOnClose(false) // the file at the path is that of the new listener
	_ = s.listener.Close()
	s.listener, s.info = by.listener, by.info
}

// setLock takes a lock, and closes the one before unless that is the same.
func (s *Socket) setLock(lock *os.File) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lock != lock {
		_ = s.lock.Close()
		s.lock = lock
	}
	if s.closed {
		_ = lock.Close()
	}
}

// renew calls socket.Renew until ctx ends, and logs what that does. An error that stays is logged once.
func (s *Server) renew(ctx context.Context, socket *Socket) {
	tick := time.NewTicker(s.cfg.RenewInterval)
	defer tick.Stop()
	last := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		made, err := socket.Renew()
		path := slog.String("socket", socket.Addr().String())
		if made {
			s.cfg.Log.Warn("the control socket was removed: lnetd has made it again", path)
		}
		text := ""
		if err != nil {
			text = err.Error()
		}
		if text != "" && text != last {
			s.cfg.Log.Warn("the control socket was removed: tools do not reach lnetd", path, slog.Any("err", err),
				slog.String("hint", "lnetd makes it again as soon as it can: see the directory of the socket"))
		}
		last = text
	}
}
