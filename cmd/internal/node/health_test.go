package node

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"syscall"
	"testing"

	"ulnet/cmd/internal/config"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnet/path"
)

// TestHealthOfAll: setting the health of all NIs does not end at an NI that has gone since they were listed.
func TestHealthOfAll(t *testing.T) {
	port, err := loopback.FreePort(netip.MustParseAddr("127.0.0.81"), netip.MustParseAddr("127.0.0.82"))
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.Networks, cfg.AcceptPort = "tcp(127.0.0.81),tcp1(127.0.0.82)", int(port)
	n, err := New(Config{Config: cfg})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	listed := n.healthOf(false)
	if got := fmt.Sprint(listed); got != "[127.0.0.81@tcp 127.0.0.82@tcp1]" {
		t.Fatalf("listed %s", got)
	}
	if _, err := n.RemoveNet(t.Context(), RemoveRequest{Net: "tcp"}); err != nil {
		t.Fatal(err)
	}
	err = setAll(listed, 0, n.lnet.SetNIHealth)
	if health := n.Status().NIs[1].NISnapshot.Health; err != nil || health == path.MaxHealth { // recovery raises it bit by bit
		t.Errorf("%v, the NI that is left has health %d", err, health)
	}
	if err := setAll(listed, 1001, n.lnet.SetNIHealth); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("health 1001: %v, want EINVAL", err)
	}
	if err := n.SetNIHealth(HealthRequest{NID: listed[0], Value: 500}); !errors.Is(err, syscall.ENOENT) {
		t.Errorf("an NI that has gone, by its NID: %v, want ENOENT", err)
	}
}
