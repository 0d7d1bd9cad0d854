package main

import (
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestCaptureFile: the file is the owner's alone, and what was captured is in
// it while the daemon runs.
func TestCaptureFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lnet.pcapng")
	tap, err := openTap(path)
	if err != nil {
		t.Fatal(err)
	}
	stop := tap.flushAll(slog.New(slog.DiscardHandler))
	size := func() int64 {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v", info.Mode())
		}
		return info.Size()
	}
	before := size()
	tap.writer.Flow(netip.MustParseAddrPort("10.0.0.1:1023"), netip.MustParseAddrPort("10.0.0.2:988"), true)
	late := time.After(20 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for size() == before {
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("a connection that began is not in the file")
		}
	}
	stop()
	if err := tap.close(); err != nil {
		t.Error(err)
	}
}
