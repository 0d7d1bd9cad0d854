package service

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
)

// listenAt listens at a path with a new socket, or with an inherited one.
func listenAt(t *testing.T, s *Sockets, path string, inherits bool) *net.UnixListener {
	t.Helper()
	made := false
	l, err := s.ListenUnix(path, func(path string) (*net.UnixListener, error) {
		made = true
		return net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	})
	if err != nil {
		t.Fatal(err)
	}
	if made == inherits {
		t.Errorf("makes a new socket: %v, want %v", made, !inherits)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// reaches checks that a client, which has connected or connects now, reaches a listener.
func reaches(t *testing.T, l *net.UnixListener) {
	t.Helper()
	_ = l.SetDeadline(time.Now().Add(waitLimit))
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
}

// stored starts a process that listens at a path, and ends it. It returns the manager and the file
// of the socket, which stands for the manager's descriptor.
func stored(t *testing.T, path string) (k *keeper, name string, file *os.File) {
	t.Helper()
	k = newKeeper(t)
	s := k.process(t, "")
	l := listenAt(t, s, path, false)
	s.Started()
	name = unixAt(path).name()
	if store := k.await(t, "FDSTORE=1"); store != "FDSTORE=1\nFDNAME="+name+"\nFDPOLL=0" {
		t.Errorf("%q", store)
	}
	file = fileOf(t, l)
	s.Stopping()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return k, name, file
}

// TestUnixHandover: while no process listens at a path, connections wait for the next one.
func TestUnixHandover(t *testing.T) {
	spec.Covers(t, "OP-80", "OP-83")
	path := filepath.Join(t.TempDir(), "s")
	k, name, file := stored(t, path)
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatalf("while no process listens: %v", err)
	}
	defer c.Close()
	next := k.process(t, name, file)
	l := listenAt(t, next, path, true)
	next.Started()
	reaches(t, l)
	_ = l.Close()
	if _, err := os.Lstat(path); err != nil || !slices.Equal(k.Stored(), []string{name}) {
		t.Errorf("%v, stored %v", err, k.Stored())
	}
}

// TestUnixReplaced: a stored socket whose file is no longer at its path, so that no client reaches the socket, is
// not used, and the manager forgets it. A new socket is made at the path.
func TestUnixReplaced(t *testing.T) {
	spec.Covers(t, "OP-83")
	path := filepath.Join(t.TempDir(), "s")
	k, name, file := stored(t, path)
	if err := os.Rename(path, path+".elsewhere"); err != nil { // not removed, so that no new file gets its inode
		t.Fatal(err)
	}
	next := k.process(t, name, file)
	l := listenAt(t, next, path, false)
	next.Started()
	k.await(t, "FDSTOREREMOVE=1\nFDNAME="+name)
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	reaches(t, l)
	if isOpen(500) {
		t.Error("the socket that is not used is open")
	}
}

// TestUnixSpelling: a socket is used again even if the configuration now has another path to its
// file.
func TestUnixSpelling(t *testing.T) {
	spec.Covers(t, "OP-83")
	for _, spelling := range []string{"linked/s", "folder//s", "./folder/s", "folder/../linked/s"} {
		dir := t.TempDir()
		if err := errors.Join(os.Mkdir(filepath.Join(dir, "folder"), 0o700), os.Symlink("folder", filepath.Join(dir, "linked"))); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "folder", "s")
		k, name, file := stored(t, path)
		next := k.process(t, name, file)
		l := listenAt(t, next, dir+"/"+spelling, true)
		next.Started()
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatalf("%s: %v", spelling, err)
		}
		reaches(t, l)
		_ = c.Close()
		_ = next.manager.barrier(waitLimit) // returns when the manager has read all messages
		if !slices.Equal(k.Stored(), []string{name}) {
			t.Errorf("%s: stored %v", spelling, k.Stored())
		}
	}
}

// TestUnixSameInode: if the file of a socket was removed, a new socket takes its place, even if the file
// system gives the new file the inode of the old one, so that both sockets have the same name in the store.
func TestUnixSameInode(t *testing.T) {
	spec.Covers(t, "OP-83")
	path := filepath.Join(t.TempDir(), "s")
	k, _, file := stored(t, path)
	fresh, err := net.ListenUnix("unix", &net.UnixAddr{Name: path + ".fresh", Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer fresh.Close()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	name := unixAt(path + ".fresh").name()
	next := k.process(t, name, file)
	l, err := next.ListenUnix(path, func(string) (*net.UnixListener, error) { return fresh, os.Rename(path+".fresh", path) })
	if err != nil {
		t.Fatal(err)
	}
	next.Started()
	_ = next.manager.barrier(waitLimit) // returns when the manager has read all messages
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	reaches(t, l)
	if !slices.Contains(k.Stored(), name) {
		t.Errorf("stored %v, want %s", k.Stored(), name)
	}
}

// TestUnixUnused: if the configuration no longer has the path of a stored socket, the manager forgets the
// socket, and its file is removed.
func TestUnixUnused(t *testing.T) {
	spec.Covers(t, "OP-83")
	path := filepath.Join(t.TempDir(), "s")
	k, name, file := stored(t, path)
	k.process(t, name, file).Started()
	k.await(t, "FDSTOREREMOVE=1\nFDNAME="+name)
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(k.log.String(), "nothing here listens on "+path) {
		t.Errorf("%v, log %s", err, &k.log)
	}
}

// TestUnixOfUnit: a socket of a socket unit is used, and neither stored nor forgotten.
func TestUnixOfUnit(t *testing.T) {
	spec.Covers(t, "OP-83")
	path := filepath.Join(t.TempDir(), "s")
	unit, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer unit.Close()
	k := newKeeper(t)
	s := k.process(t, "lnetd.socket", fileOf(t, unit))
	for range 2 {
		_ = listenAt(t, s, path, true).Close()
		s.Started()
	}
	s.manager.Ready("")
	if text := k.await(t, ""); !strings.HasPrefix(text, "READY=1") {
		t.Errorf("the first message is %q", text)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Error(err)
	}
}

// TestUnixNoStore: if no service manager (such as systemd) keeps a Unix socket for the next process, because there is
// none or it cannot be reached, the socket's file is removed when the process ends.
func TestUnixNoStore(t *testing.T) {
	spec.Covers(t, "OP-83")
	for _, address := range []string{"", filepath.Join(t.TempDir(), "missing")} {
		k := newKeeper(t)
		s := k.process(t, "")
		if s.manager.address = address; address == "" {
			s.manager.send = nil
		}
		path := filepath.Join(t.TempDir(), "s")
		_ = listenAt(t, s, path, false).Close()
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: the file stays: %v", address, err)
		}
	}
}
