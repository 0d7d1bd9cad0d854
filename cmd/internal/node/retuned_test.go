package node

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"testing"

	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/config/tree"
	"ulnet/lnd/lndtest/loopback"
)

// TestRetunedWithUnsent: lnetd starts although an NI, to which /etc/lnet.conf gives other tunables, was stopped
// before it had sent its messages. This is a warning in the log.
func TestRetunedWithUnsent(t *testing.T) {
	port, err := loopback.FreePort(netip.MustParseAddr("127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.Networks, cfg.AcceptPort = "tcp(127.0.0.1)", int(port)
	n, err := New(Config{Config: cfg})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Shutdown(context.Background()) }) // an error does no harm, as no message is waiting
	f, err := tree.Read([]byte("net:\n- net type: tcp\n  local NI(s):\n  - interfaces:\n      0: 127.0.0.1\n    tunables:\n      peer_credits: 16\n"))
	if err != nil {
		t.Fatal(err)
	}
	e := n.Editor()
	e.RemoveNet = func(ctx context.Context, r RemoveRequest) (RemovedNet, error) {
		_, err := n.RemoveNet(ctx, r)
		return RemovedNet{Warnings: []string{"7 messages were not sent"}}, err
	}
	var log strings.Builder
	if err := removeRetuned(t.Context(), slog.New(slog.NewTextHandler(&log, nil)), e, f, "lnet.conf"); err != nil {
		t.Error(err)
	}
	if r := tree.Apply(t.Context(), e, tree.AddMissing, f); len(r.Errs) > 0 {
		t.Error(r.Errs)
	}
	if ids := fmt.Sprint(n.NIDs()); ids != "[127.0.0.1@tcp]" || !strings.Contains(log.String(), "7 messages were not sent") {
		t.Errorf("NIDs %s, log\n%s", ids, &log)
	}
}
