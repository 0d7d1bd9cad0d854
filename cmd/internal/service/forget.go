package service

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"syscall"
	"time"
)

// closePause is the pause between two attempts to bind an address of which the manager still has a socket.
const closePause = 20 * time.Millisecond

// Limits of the wait for a manager that was told to forget a socket; tests change them.
var (
	barrierTimeout = time.Second      // for the manager's answer, before an address is bound
	busyTimeout    = 10 * time.Second // for that answer, once binding has failed because the manager still has a socket at the address
	closeTimeout   = time.Second      // for the manager to close its socket once it has answered
)

// errUntold means that the manager has answered, but that an earlier message, to forget a socket,
// could not be sent.
var errUntold = errors.New("it could not be told of a socket")

// removeLocked removes a socket from the manager's store. The caller holds s.mu.
func (s *Sockets) removeLocked(name string) {
	if s.manager.send == nil {
		return
	}
	s.forgetting[name] = s.manager.tell("FDSTOREREMOVE=1\nFDNAME=" + name)
}

// bindLocked calls bind, which binds a new socket to the address of at. If the address is in use and the
// manager was told to forget a socket there, bindLocked calls bind again, for a limited time, until the
// manager has closed its socket: the manager may be busy, and systemd closes descriptors in a separate
// thread. The caller holds s.mu.
func (s *Sockets) bindLocked(at endpoint, bind func() error) error {
	name := at.name()
	_, given := s.forgetting[name]
	late := s.awaitForgotten(barrierTimeout)
	err := bind()
	if given && errors.Is(err, syscall.EADDRINUSE) {
		s.manager.log.Warn("service manager still has a socket that it was told to forget: waiting", slog.String("address", at.address), slog.Any("err", late))
		limit := busyTimeout
		if late == nil {
			limit = closeTimeout
		}
		for end := time.Now().Add(limit); errors.Is(err, syscall.EADDRINUSE) && time.Now().Before(end); err = bind() {
			if late != nil {
				if late = s.awaitForgotten(time.Until(end)); late == nil {
					end = time.Now().Add(closeTimeout)
				}
			}
			time.Sleep(closePause)
		}
		if err != nil && late != nil {
			err = fmt.Errorf("%w: the service manager was told to close its socket there, and does not answer: %w", err, late)
		}
	}
	if err == nil {
		delete(s.forgetting, name)
	}
	return err
}

// awaitForgotten waits until the manager has closed the sockets that it was told to forget, so that
// their addresses can be bound. If the message to forget a socket could not be sent earlier, it sends
// the message again first. After an error the manager may still have the sockets. The caller holds s.mu.
func (s *Sockets) awaitForgotten(limit time.Duration) error {
	if len(s.forgetting) == 0 {
		return nil
	}
	for name, told := range s.forgetting {
		if !told {
			s.removeLocked(name)
		}
	}
	err := s.manager.barrier(limit)
	if err == nil {
		maps.DeleteFunc(s.forgetting, func(_ string, told bool) bool { return told })
	}
	if err == nil && len(s.forgetting) > 0 {
		err = errUntold
	}
	return err
}

// barrier waits until the manager has handled what it was told before: the manager then closes the
// descriptor that it gets (sd_notify_barrier(3)). It logs its errors; os.ErrDeadlineExceeded: the manager
// did not answer within the limit.
func (m *Manager) barrier(limit time.Duration) error {
	if m.send == nil {
		return nil
	}
	end := time.Now().Add(limit)
	r, w, err := os.Pipe()
	if err == nil {
		err = pass(m.address, "BARRIER=1", int(w.Fd()), limit)
		_ = w.Close()              // an error loses nothing: no data was written to the pipe
		_ = r.SetReadDeadline(end) // cannot fail on pipes
		if err == nil {
			if _, err = r.Read(make([]byte, 1)); errors.Is(err, io.EOF) {
				err = nil
			}
		}
		_ = r.Close() // an error loses nothing: no data was written to the pipe
	}
	if err != nil {
		m.log.Warn("service manager does not answer", slog.Any("err", err))
	}
	return err
}
