//go:build linux

package lnetdtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ulnet/cmd/internal/service/servicetest"
)

// messageTimeout bounds the wait for a message of a daemon to its service manager.
const messageTimeout = 60 * time.Second

// Manager plays the service manager of daemons (systemd): it receives what they report by
// sd_notify(3), and keeps listening sockets for the next daemon.
type Manager struct {
	*servicetest.Manager
	t        testing.TB
	watchdog time.Duration // longest time between watchdog messages; 0: none are wanted
	messages chan string
}

// mostMessages is the number of messages that a Manager keeps for a test.
const mostMessages = 10_000

// NewManager returns a manager that wants a watchdog message at least once in the given time, or none
// if the time is 0.
func NewManager(t testing.TB, watchdog time.Duration) *Manager {
	t.Helper()
	m := &Manager{t: t, watchdog: watchdog, messages: make(chan string, mostMessages)}
	var err error
	m.Manager, err = servicetest.Start(filepath.Join(t.TempDir(), "notify"), func(text string) {
		select {
		case m.messages <- text:
		case <-t.Context().Done():
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// equip adds to the command of a daemon the files and environment variables that the daemon gets from its
// manager. Call release when the daemon has started.
func (m *Manager) equip(cmd *exec.Cmd, more []*os.File) (release func()) {
	m.t.Helper()
	release, err := m.Equip(cmd, more...)
	if err != nil {
		m.t.Fatal(err)
	}
	if m.watchdog > 0 {
		cmd.Env = append(cmd.Env, fmt.Sprintf("WATCHDOG_USEC=%d", m.watchdog.Microseconds()))
	}
	return release
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

// Await returns the next message that has a line with the given name, and discards the messages before it.
func (m *Manager) Await(name string) map[string]string {
	m.t.Helper()
	for {
		if message := m.Next(); message[name] != "" {
			return message
		}
	}
}
