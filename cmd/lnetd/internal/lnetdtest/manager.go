//go:build linux

package lnetdtest

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// messageTimeout bounds the wait for a message of a daemon to its service manager.
const messageTimeout = 60 * time.Second

// Manager plays the service manager of a daemon (systemd): it receives what the daemon
// reports by sd_notify(3). It reads all the time, because a daemon gives up a message that does not
// fit into the short queue of the socket.
type Manager struct {
	t        testing.TB
	path     string
	watchdog time.Duration // time in which it wants a message; 0: it wants none
	messages chan string
}

// mostMessages is the number of messages that a Manager keeps for a test.
const mostMessages = 10_000

// NewManager returns a manager that wants a message of the watchdog in the given time, or none if
// that is 0.
func NewManager(t testing.TB, watchdog time.Duration) *Manager {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	m := &Manager{t: t, path: path, watchdog: watchdog, messages: make(chan string, mostMessages)}
	go m.read(conn)
	return m
}

// read keeps messages until the socket is closed.
func (m *Manager) read(conn *net.UnixConn) {
	b := make([]byte, 4096)
	for {
		n, err := conn.Read(b)
		if err != nil {
			return
		}
		select {
		case m.messages <- string(b[:n]):
		case <-m.t.Context().Done():
			return
		}
	}
}

// environment returns the variables that the daemon gets.
func (m *Manager) environment() []string {
	list := []string{"NOTIFY_SOCKET=" + m.path}
	if m.watchdog > 0 {
		list = append(list, fmt.Sprintf("WATCHDOG_USEC=%d", m.watchdog.Microseconds()))
	}
	return list
}

// Next returns the next message, as its lines NAME=VALUE.
func (m *Manager) Next() map[string]string {
	m.t.Helper()
	var text string
	select {
	case text = <-m.messages:
	case <-time.After(messageTimeout):
		m.t.Fatal("no message of the daemon to its service manager")
	}
	message := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		if !ok {
			m.t.Fatalf("a message has the line %q", line)
		}
		message[name] = value
	}
	return message
}

// Await returns the next message that has a name, and skips those without.
func (m *Manager) Await(name string) map[string]string {
	m.t.Helper()
	for {
		if message := m.Next(); message[name] != "" {
			return message
		}
	}
}
