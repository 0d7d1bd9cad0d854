package main

import (
	"context"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/statelock"
	"ulnet/lnd/lndtest/loopback"
)

// TestToldToEndWhileImporting: a daemon that is told to end while it imports lnet.conf ends in order: that is no
// failure, and no line says that the daemon is ready.
func TestToldToEndWhileImporting(t *testing.T) {
	port, err := loopback.FreePort(netip.MustParseAddr("127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cfg := config.Default()
	cfg.Networks, cfg.AcceptPort = "tcp(127.0.0.1)", int(port)
	cfg.Socket, cfg.StateDir, cfg.RuntimeDir = filepath.Join(dir, "socket"), filepath.Join(dir, "state"), filepath.Join(dir, "run")
	cfg.LNetConf = filepath.Join(dir, "lnet.conf")
	for _, text := range []string{
		"global:\n    retry_count: 1\n",
		"net:\n- net type: tcp\n  local NI(s):\n  - interfaces:\n      0: 127.0.0.1\n    tunables:\n      peer_credits: 16\n", // the NI has other tunables
	} {
		if err := os.WriteFile(cfg.LNetConf, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, signalled := context.WithCancel(t.Context())
		signalled()
		var stdout strings.Builder
		env := cli.Env{Stdout: &stdout, Stderr: io.Discard, Getenv: func(string) string { return "" }}
		err := own(cfg, config.Dirs{}, func(state *statelock.Lock) error {
			return serve(ctx, env, &config.Loaded{Config: cfg}, state, catchHangups(), nil)
		})
		if err != nil || stdout.Len() > 0 {
			t.Errorf("%s: error %v, standard output %q", text, err, &stdout)
		}
	}
}
