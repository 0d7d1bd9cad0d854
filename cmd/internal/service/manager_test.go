package service

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"ulnet/lnd/lndtest/spec"
)

// environment returns a function that returns variables.
func environment(variables map[string]string) func(string) string {
	return func(name string) string { return variables[name] }
}

// monotonic returns the time of the monotonic clock in microseconds.
func monotonic(t *testing.T) int64 {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		t.Fatal(err)
	}
	return now.Nano() / 1000
}

// TestMessages: messages arrive at sockets with a path and with an abstract name.
func TestMessages(t *testing.T) {
	spec.Covers(t, "OP-1")
	for name, address := range map[string]string{"path": filepath.Join(t.TempDir(), "n"), "abstract": "@ulnet-" + t.Name()} {
		t.Run(name, func(t *testing.T) {
			c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: address, Net: "unixgram"})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			next := func() string {
				b := make([]byte, 1000)
				n, err := c.Read(b)
				if err != nil {
					t.Fatal(err)
				}
				return string(b[:n])
			}
			m := New(environment(map[string]string{"NOTIFY_SOCKET": address}), slog.New(slog.DiscardHandler))
			before := monotonic(t)
			m.Ready("a\nFDSTORE=1")
			m.Reloading()
			m.Stopping(t.Context())()
			if got := next(); got != "READY=1\nSTATUS=a FDSTORE=1" {
				t.Errorf("%q", got)
			}
			after := monotonic(t)
			text, ok := strings.CutPrefix(next(), "RELOADING=1\nMONOTONIC_USEC=")
			if usec, err := strconv.ParseInt(text, 10, 64); !ok || err != nil || usec < before || usec > after {
				t.Errorf("reloading at %q, want a time from %d to %d", text, before, after)
			}
			if got := next(); got != "STOPPING=1" {
				t.Errorf("%q", got)
			}
		})
	}
}

// TestStopping: STOPPING=1 is sent once, when the context ends or when the function is called, and
// it has been sent when the function returns.
func TestStopping(t *testing.T) {
	spec.Covers(t, "OP-1")
	for name, run := range map[string]func(cancel, now func()){
		"context ends":         func(cancel, _ func()) { cancel() },
		"context does not end": func(_, now func()) { now() },
		"called as it ends":    func(cancel, now func()) { cancel(); now() },
		"called before":        func(cancel, now func()) { now(); cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var sent atomic.Int32
				m := Manager{send: func(state string) error {
					if state != "STOPPING=1" {
						t.Errorf("sent %q", state)
					}
					sent.Add(1)
					return nil
				}}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				run(cancel, m.Stopping(ctx))
				if n := sent.Load(); n != 1 && name != "context ends" {
					t.Errorf("sent %d times when the function returned", n)
				}
				cancel()
				synctest.Wait()
				if n := sent.Load(); n != 1 {
					t.Errorf("sent %d times", n)
				}
			})
		})
	}
}

// TestWithoutManager: without a manager nothing is sent or logged; a socket that does not answer,
// and an address of another kind, are logged.
func TestWithoutManager(t *testing.T) {
	spec.Covers(t, "OP-1")
	for address, want := range map[string]string{
		"":                                    "",
		filepath.Join(t.TempDir(), "missing"): "no such file or directory",
		"vsock:2:1234":                        "want a path or @ and a name",
	} {
		var out bytes.Buffer
		m := New(environment(map[string]string{"NOTIFY_SOCKET": address}), slog.New(slog.NewTextHandler(&out, nil)))
		m.Ready("up")
		if log := out.String(); !strings.Contains(log, want) || (want == "") != (log == "") {
			t.Errorf("%s: log %q", address, log)
		}
	}
}

func TestWatchdogOf(t *testing.T) {
	own := strconv.Itoa(os.Getpid())
	for _, test := range []struct {
		usec, pid string
		want      time.Duration
		bad       bool
	}{
		{"", "", 0, false},
		{"3000000", "", 3 * time.Second, false},
		{"1", own, time.Microsecond, false},
		{"3000000", "1", 0, false},
		{"0", own, 0, true},
		{"-1", own, 0, true},
		{"soon", own, 0, true},
		{"18446744073709551615", own, 0, true},
	} {
		got, err := watchdogOf(environment(map[string]string{"WATCHDOG_USEC": test.usec, "WATCHDOG_PID": test.pid}))
		if got != test.want || (err != nil) != test.bad {
			t.Errorf("%q, %q: %v, %v", test.usec, test.pid, got, err)
		}
	}
}
