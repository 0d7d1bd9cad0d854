package service

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ulnet/cmd/internal/service/servicetest"
	"ulnet/lnd/lndtest/spec"
)

// onLine is a slog.Handler: a function that is called with the message of each record.
type onLine func(text string)

func (f onLine) Enabled(context.Context, slog.Level) bool { return true }
func (f onLine) WithAttrs([]slog.Attr) slog.Handler       { return f }
func (f onLine) WithGroup(string) slog.Handler            { return f }
func (f onLine) Handle(_ context.Context, r slog.Record) error {
	f(r.Message)
	return nil
}

// busy returns the sockets of a process whose manager reads one message, and further ones only when the
// process has logged that it waits for the manager.
func busy(t *testing.T) *Sockets {
	t.Helper()
	real := barrierTimeout
	barrierTimeout = time.Millisecond
	ended := make(chan struct{})
	end := sync.OnceFunc(func() { close(ended) })
	k, err := servicetest.Start(filepath.Join(t.TempDir(), "n"), func(string) { <-ended })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		end()
		_ = k.Close()
		barrierTimeout = real
	})
	log := onLine(func(text string) {
		if strings.Contains(text, "still has a socket") {
			end()
		}
	})
	m := New(environment(map[string]string{"NOTIFY_SOCKET": k.Address()}), slog.New(log))
	return m.Sockets(inherit(environment(nil), firstDescriptor))
}

// binders are the functions that bind an address at which the manager may have a socket, and return the
// address.
var binders = map[string]func(*Sockets, netip.AddrPort) (io.Closer, netip.AddrPort, error){
	"tcp": func(s *Sockets, local netip.AddrPort) (io.Closer, netip.AddrPort, error) {
		l, err := s.Listen(*plain(), local)
		if err != nil {
			return nil, local, err
		}
		return l, addressOf(l.Addr()), nil
	},
	"udp": func(s *Sockets, local netip.AddrPort) (io.Closer, netip.AddrPort, error) {
		c, err := s.ListenPacket(net.ListenConfig{}, local)
		if err != nil {
			return nil, local, err
		}
		return c, addressOf(c.LocalAddr()), nil
	},
}

// bound binds any port of 127.0.0.1 and closes the socket. It returns the address, at which the manager
// may still have the socket.
func bound(t *testing.T, s *Sockets, bind func(*Sockets, netip.AddrPort) (io.Closer, netip.AddrPort, error)) netip.AddrPort {
	t.Helper()
	l, local, err := bind(s, anyPort)
	if err != nil {
		t.Fatal(err)
	}
	s.Started()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return local
}

// TestBusyManager: an address that was given back can be bound again, even if the manager closes its socket
// at that address only after the first wait for the manager has ended. Otherwise a reload while the manager
// is busy would lose the NI.
func TestBusyManager(t *testing.T) {
	spec.Covers(t, "OP-80")
	for network, bind := range binders {
		t.Run(network, func(t *testing.T) {
			s := busy(t)
			local := bound(t, s, bind)
			l, at, err := bind(s, local)
			if err != nil {
				t.Fatal(err)
			}
			if at != local {
				t.Errorf("bound %v, want %v", at, local)
			}
			_ = l.Close()
		})
	}
}

// TestBusyForLong: if the manager does not answer in time, the error says so, and a later attempt succeeds.
// The same holds if the manager could not even be told to forget the socket.
func TestBusyForLong(t *testing.T) {
	spec.Covers(t, "OP-80")
	for network, bind := range binders {
		t.Run(network, func(t *testing.T) {
			s := busy(t)
			log, real := s.manager.log, busyTimeout
			s.manager.log, busyTimeout = slog.New(slog.DiscardHandler), time.Millisecond
			local := bound(t, s, bind)
			for range 2 {
				if _, _, err := bind(s, local); !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), "the service manager was told to close its socket there") {
					t.Errorf("error %v", err)
				}
			}
			s.manager.log, busyTimeout = log, real
			l, _, err := bind(s, local)
			if err != nil {
				t.Fatal(err)
			}
			_ = l.Close()
		})
	}
}

// TestNoManagerToForget: without a service manager, a process that binds an address again after closing its
// socket there does not wait: if another program has bound the address meanwhile, the error comes at once.
func TestNoManagerToForget(t *testing.T) {
	spec.Covers(t, "OP-80")
	for network, bind := range binders {
		t.Run(network, func(t *testing.T) {
			s := New(environment(nil), slog.New(onLine(func(text string) { t.Error(text) }))).Sockets(inherit(environment(nil), firstDescriptor))
			local := bound(t, s, bind)
			other, _, err := bind(New(environment(nil), slog.New(slog.DiscardHandler)).Sockets(inherit(environment(nil), firstDescriptor)), local)
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close()
			if _, _, err := bind(s, local); !errors.Is(err, syscall.EADDRINUSE) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestNotTold: if the manager could not be told to forget a socket, it is told again before the address is
// bound again.
func TestNotTold(t *testing.T) {
	spec.Covers(t, "OP-80")
	for network, bind := range binders {
		t.Run(network, func(t *testing.T) {
			k := newKeeper(t)
			s := k.process(t, "")
			defer func(real time.Duration) { busyTimeout = real }(busyTimeout)
			busyTimeout = time.Millisecond // short, because the manager is not busy
			send := s.manager.send
			s.manager.send = func(string) error { return os.ErrDeadlineExceeded }
			local := bound(t, s, bind)
			s.manager.send = send
			l, _, err := bind(s, local)
			if err != nil {
				t.Fatal(err)
			}
			_ = s.manager.barrier(waitLimit) // returns when the manager has read all messages
			if len(k.Stored()) != 1 {
				t.Errorf("stored %v", k.Stored())
			}
			_ = l.Close()
		})
	}
}

// TestClosedLater: an address that was given back can be bound again, also if the manager closes its socket
// only after it has answered the barrier.
func TestClosedLater(t *testing.T) {
	spec.Covers(t, "OP-80")
	k := newKeeper(t)
	s := k.process(t, "")
	l, local := listen(t, s, anyPort)
	s.Started()
	file := fileOf(t, l.(*listener).TCPListener) // plays the manager's copy of the descriptor
	_ = l.Close()
	attempts := 0
	how := net.ListenConfig{Control: func(string, string, syscall.RawConn) error { // called before each attempt to bind; before the second one, the manager closes its descriptor
		if attempts++; attempts == 2 {
			_ = file.Close()
		}
		return nil
	}}
	how.SetMultipathTCP(false) // otherwise Go tries Multipath TCP first, and calls Control twice in each attempt
	again, err := s.Listen(how, local)
	if err != nil {
		t.Fatal(err)
	}
	_ = again.Close()
}

// TestStopWhileBusy: a process that ends can close its sockets even while a reload still waits for the
// manager. Otherwise the end of the process would take as long as the manager is busy.
func TestStopWhileBusy(t *testing.T) {
	spec.Covers(t, "OP-80")
	s := newKeeper(t).process(t, "")
	l, _ := listen(t, s, anyPort)
	s.Started()
	s.mu.Lock() // as a reload does that waits for the manager in bindLocked
	defer s.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Stopping()
		_ = l.Close()
	}()
	select {
	case <-ended:
	case <-time.After(waitLimit):
		t.Fatal("the end waits for the manager")
	}
}
