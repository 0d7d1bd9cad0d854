//go:build linux

package main_test

import (
	"net/netip"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"ulnet/cmd/lnetd/internal/lnetdtest"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnd/lndtest/spec"
)

// TestServiceManager: a daemon tells its service manager that it is ready, that it still works,
// that it has taken SIGHUP, and that it ends.
func TestServiceManager(t *testing.T) {
	spec.Covers(t, "OP-1", "OP-2", "OP-3")
	t.Parallel()
	port, err := loopback.FreePort(netip.MustParseAddr("127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	manager := lnetdtest.NewManager(t, 100*time.Millisecond)
	d := lnetdtest.Build(t).Start(t, lnetdtest.Config{Networks: "tcp(127.0.0.1)", Port: port, Manager: manager})
	if stored := manager.Next(); stored["FDSTORE"] != "1" {
		t.Errorf("the first message is %v", stored)
	}
	if first := manager.Next(); first["READY"] != "1" || !strings.HasPrefix(first["STATUS"], "127.0.0.1@tcp, ") {
		t.Errorf("the next message is %v", first)
	}
	for range 3 {
		if next := manager.Next(); next["WATCHDOG"] != "1" {
			t.Errorf("%v, want a message of the watchdog", next)
		}
	}
	d.Hangup()
	if usec, err := strconv.ParseInt(manager.Await("RELOADING")["MONOTONIC_USEC"], 10, 64); err != nil || usec <= 0 {
		t.Errorf("reloading at %d µs, %v", usec, err)
	}
	manager.Await("READY")
	if err := d.Stop(); err != nil {
		t.Error(err)
	}
	manager.Await("STOPPING")
}

// TestLogReaderEnds: OP-25: a daemon goes on if the process that reads its output has ended, such as a
// collector of logs that is restarted.
func TestLogReaderEnds(t *testing.T) {
	spec.Covers(t, "OP-25")
	t.Parallel()
	port, err := loopback.FreePort(netip.MustParseAddr("127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	defer w.Close()
	d := lnetdtest.Build(t).Start(t, lnetdtest.Config{Networks: "tcp(127.0.0.1)", Port: port, Output: w, Settings: []string{"# none", ""}})
	if _, err := d.Lnetctl(t.Context(), "reload"); err != nil { // logs a line
		t.Error(err)
	}
	if _, err := d.Lnetctl(t.Context(), "net", "show"); err != nil {
		t.Error(err)
	}
	if err := d.Stop(); err != nil {
		t.Error(err)
	}
}
