//go:build linux

// Package servicetest plays the service manager (systemd) of a daemon: it receives what the daemon
// reports by sd_notify(3), keeps descriptors that the daemon gives it, and hands them to the next
// process.
package servicetest

import (
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Manager is a service manager with a store. It reads all the time, because a daemon gives up a
// message that does not fit into the short queue of the socket. All methods are safe for concurrent
// use.
type Manager struct {
	path  string
	conn  *net.UnixConn
	heard func(text string)
	ended sync.WaitGroup

	mu     sync.Mutex
	stored map[string]*os.File // descriptors by their names; guarded by mu
}

// Start returns a manager whose socket has a path. The manager calls heard with the text of each message
// after it has done what the message asks for; heard may be nil.
func Start(path string, heard func(text string)) (*Manager, error) {
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return nil, err
	}
	m := &Manager{path: path, conn: conn, heard: heard, stored: make(map[string]*os.File)}
	m.ended.Go(m.read)
	return m, nil
}

// Close ends the manager and closes what it has stored.
func (m *Manager) Close() error {
	err := m.conn.Close()
	m.ended.Wait()
	for _, f := range m.stored {
		_ = f.Close() // an error loses nothing: no data was written
	}
	return err
}

// Address returns the value of NOTIFY_SOCKET.
func (m *Manager) Address() string { return m.path }

// Stored returns the sorted names of the descriptors in the store.
func (m *Manager) Stored() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.stored))
}

// Equip gives a command that has not started the variables of the protocol and, from number 3 on,
// descriptors: first the files in more, which a correct manager would not hand over, then duplicates of
// those in the store. It changes the command into a shell that sets LISTEN_PID and then executes the
// original command. Call release, which closes the duplicates, when the command has started.
func (m *Manager) Equip(cmd *exec.Cmd, more ...*os.File) (release func(), err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	names := make([]string, len(more))
	cmd.ExtraFiles = slices.Clone(more)
	release = func() {
		for _, f := range cmd.ExtraFiles[len(more):] {
			_ = f.Close() // an error loses nothing: no data was written
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.stored)) {
		fd, err := unix.FcntlInt(m.stored[name].Fd(), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return release, os.NewSyscallError("fcntl", err)
		}
		names = append(names, name)
		cmd.ExtraFiles = append(cmd.ExtraFiles, os.NewFile(uintptr(fd), name))
	}
	cmd.Env = append(cmd.Environ(), "NOTIFY_SOCKET="+m.path)
	if len(names) == 0 {
		return release, nil
	}
	cmd.Env = append(cmd.Env, fmt.Sprintf("LISTEN_FDS=%d", len(names)), "LISTEN_FDNAMES="+strings.Join(names, ":"))
	cmd.Args = slices.Concat([]string{"sh", "-c", `LISTEN_PID=$$ exec "$0" "$@"`, cmd.Path}, cmd.Args[1:])
	cmd.Path = "/bin/sh"
	return release, nil
}

// read handles messages until the socket is closed.
func (m *Manager) read() {
	text, rights := make([]byte, 4096), make([]byte, unix.CmsgSpace(4*4))
	for {
		n, oobn, _, _, err := m.conn.ReadMsgUnix(text, rights)
		if err != nil {
			return
		}
		m.handle(string(text[:n]), descriptors(rights[:oobn]))
		if m.heard != nil {
			m.heard(string(text[:n]))
		}
	}
}

// descriptors returns the files that came with a message.
func descriptors(rights []byte) (files []*os.File) {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil {
		return nil
	}
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			continue
		}
		for _, fd := range fds {
			unix.CloseOnExec(fd)
			files = append(files, os.NewFile(uintptr(fd), "stored"))
		}
	}
	return files
}

// handle changes the store as a message asks for. It closes descriptors that came for no reason, or
// for BARRIER=1.
func (m *Manager) handle(text string, files []*os.File) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name := "stored"
	lines := strings.Split(text, "\n")
	for _, line := range lines {
		if value, ok := strings.CutPrefix(line, "FDNAME="); ok {
			name = value
		}
	}
	if slices.Contains(lines, "FDSTOREREMOVE=1") && m.stored[name] != nil {
		_ = m.stored[name].Close() // an error loses nothing: no data was written
		delete(m.stored, name)
	}
	for _, f := range files {
		if !slices.Contains(lines, "FDSTORE=1") || m.stored[name] != nil {
			_ = f.Close() // an error loses nothing: no data was written
			continue
		}
		m.stored[name] = f
	}
}
