//go:build linux

package main_test

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
	"ulnet/cmd/lnetd/internal/lnetdtest"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnd/lndtest/spec"
)

// TestReloadFlood: very many SIGHUPs, while the file changes again and again, cause only a few reloads.
// After them the last contents of the file are in force. The service manager is told of each reload, and
// a daemon that gets SIGHUPs while it ends still ends in order.
func TestReloadFlood(t *testing.T) {
	spec.Covers(t, "OP-3", "OP-6")
	t.Parallel()
	port, err := loopback.FreePort(netip.MustParseAddr("127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	manager := lnetdtest.NewManager(t, 0)
	d := lnetdtest.Build(t).Start(t, lnetdtest.Config{Networks: "tcp(127.0.0.1)", Port: port, Manager: manager})
	manager.Await("READY")
	file := filepath.Join(d.RuntimeDir(), "lnetd.yaml")
	put := func(retries int) {
		text := fmt.Sprintf("lnet_retry_count: %d\nroutes: tcp%d 127.0.0.9@tcp\n", retries, retries+1)
		if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 300 {
		put(i % 4)
		d.Hangup()
	}
	put(5)
	d.Hangup()
	manager.Await("RELOADING")
	manager.Await("READY")
	d.Until(90*time.Second, "the last contents of the file", func() bool {
		s, err := node.OpStatus.Call(t.Context(), d.Control(), control.None{})
		if err != nil || s.Health.RetryCount != 5 {
			return false
		}
		out, err := d.Lnetctl(t.Context(), "route", "show") // looked at last, because a reload sets the routes after RetryCount
		return err == nil && strings.Count(out, "net: ") == 1 && strings.Contains(out, "net: tcp6\n")
	})
	if strings.Contains(d.Log(), "not reloaded") {
		t.Error("a reload of a whole file has failed")
	}

	var more sync.WaitGroup
	more.Go(d.HangupUntilEnd)
	if err := d.Stop(); err != nil {
		t.Errorf("a daemon that gets SIGHUPs while it ends: %v", err)
	}
	more.Wait()
}
