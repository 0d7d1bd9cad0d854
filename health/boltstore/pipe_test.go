package boltstore

import (
	"strings"
	"syscall"
	"testing"

	"ulnet/lnd/lndtest/spec"
)

// TestPipe: CH-66: Open refuses a named pipe at the path of the database. It removes a named pipe at
// the path of the temporary file in which it makes a new database. It never waits until another process
// opens the pipe.
func TestPipe(t *testing.T) {
	spec.Covers(t, "CH-66")
	path := dbPath(t)
	if err := syscall.Mkfifo(path+".new", 0o600); err != nil {
		t.Fatal(err)
	}
	open(t, path)
	other := dbPath(t)
	if err := syscall.Mkfifo(other, 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := Open(Config{Path: other}); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("%v, %v", s, err)
	}
}
