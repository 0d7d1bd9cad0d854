// Package service is the daemon's side of the protocol of service managers, sd_notify(3): it tells
// the manager that started the daemon when the daemon is ready, reads its configuration again and
// ends, and that it still works (the watchdog). It also keeps listening sockets over a restart.
//
// A message is a datagram with lines NAME=VALUE to the Unix socket that $NOTIFY_SOCKET names.
// Without that variable no manager wants messages, and all methods do nothing. Methods are safe
// for concurrent use.
package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// sendTimeout bounds the time that a message waits for a manager that does not read.
var sendTimeout = time.Second // tests make it longer

// Manager is the service manager of this process.
type Manager struct {
	send     func(state string) error // sends a message; nil: no manager wants any
	address  string                   // address of the manager's socket
	watchdog time.Duration            // longest time between two messages of Watch; 0: the manager wants none
	log      *slog.Logger
}

// New returns the manager that the environment names. It logs a variable that cannot be used, and
// messages that cannot be sent.
func New(getenv func(string) string, log *slog.Logger) *Manager {
	m := &Manager{log: log}
	address := getenv("NOTIFY_SOCKET")
	if address == "" {
		return m
	}
	m.address = address
	m.send = func(state string) error { return send(address, state) }
	var err error
	if m.watchdog, err = watchdogOf(getenv); err != nil {
		log.Warn("service manager: no watchdog", slog.Any("err", err))
	}
	return m
}

// watchdogOf returns the time in $WATCHDOG_USEC, if that is meant for this process.
func watchdogOf(getenv func(string) string) (time.Duration, error) {
	text := getenv("WATCHDOG_USEC")
	if pid := getenv("WATCHDOG_PID"); text == "" || pid != "" && pid != strconv.Itoa(os.Getpid()) {
		return 0, nil
	}
	const most = 1 << 40 // microseconds: twelve days
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n == 0 || n > most {
		return 0, fmt.Errorf("WATCHDOG_USEC=%q: want microseconds, from 1 to %d", text, most)
	}
	return time.Duration(n) * time.Microsecond, nil
}

// Ready tells the manager that the daemon has started, or has applied its configuration again. The
// status is one line for people.
func (m *Manager) Ready(status string) {
	m.tell("READY=1\nSTATUS=" + strings.ReplaceAll(status, "\n", " "))
}

// Reloading tells the manager that the daemon reads its configuration again, until Ready is called.
func (m *Manager) Reloading() {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		m.log.Warn("service manager not notified", slog.Any("err", err))
		return
	}
	m.tell(fmt.Sprintf("RELOADING=1\nMONOTONIC_USEC=%d", now.Nano()/1000))
}

// Stopping makes the daemon tell the manager once that it ends: when ctx ends or the function now
// is called. When now returns, the manager was told.
func (m *Manager) Stopping(ctx context.Context) (now func()) {
	now = sync.OnceFunc(func() { m.tell("STOPPING=1") })
	context.AfterFunc(ctx, now)
	return now
}

// tell sends a message. If it cannot be sent, tell logs that and returns false.
func (m *Manager) tell(state string) (sent bool) {
	if m.send == nil {
		return true
	}
	err := m.send(state)
	if err != nil {
		first, _, _ := strings.Cut(state, "\n")
		m.log.Warn("service manager not notified", slog.String("state", first), slog.Any("err", err))
	}
	return err == nil
}

// send sends a datagram to the Unix socket of an address.
func send(address, state string) error {
	return exchange(address, sendTimeout, func(c *net.UnixConn) error {
		_, err := c.Write([]byte(state))
		return err
	})
}

// exchange runs a function, which sends a datagram, with a connection to the Unix socket of an
// address: a path or, behind @, an abstract name. The datagram waits at most as long as limit for a place
// in the queue.
func exchange(address string, limit time.Duration, write func(*net.UnixConn) error) error {
	if rest, abstract := strings.CutPrefix(address, "@"); abstract {
		address = "\x00" + rest
	} else if !strings.HasPrefix(address, "/") {
		return fmt.Errorf("NOTIFY_SOCKET=%q: want a path or @ and a name", address)
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: address, Net: "unixgram"})
	if err != nil {
		return err
	}
	_ = c.SetWriteDeadline(time.Now().Add(limit)) // cannot fail on Unix sockets
	return errors.Join(write(c), c.Close())
}
