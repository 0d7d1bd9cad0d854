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
const messageTimeout = 20 * time.Second

// Manager stands for the service manager of a daemon (systemd): it receives what the daemon
// reports by sd_notify(3).
type Manager struct {
	t        testing.TB
	conn     *net.UnixConn
	path     string
	watchdog time.Duration // time in which it wants a message; 0: it wants none
}

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
	return &Manager{t: t, conn: conn, path: path, watchdog: watchdog}
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
	_ = m.conn.SetReadDeadline(time.Now().Add(messageTimeout))
	b := make([]byte, 4096)
	n, err := m.conn.Read(b)
	if err != nil {
		m.t.Fatalf("no message of the daemon to its service manager: %v", err)
	}
	message := map[string]string{}
	for line := range strings.Lines(string(b[:n])) {
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
