package node

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"syscall"
	"testing"

	"ulnet/cmd/internal/config"
	"ulnet/lnet/nid"
	"ulnet/lnet/route"
	"ulnet/lnet/udsp"
)

// TestLNetTakenDownMeanwhile: a call that adds networks, routes, a peer or a rule waits for a lock, and meanwhile LNet
// is taken down on the node. When the call gets the lock, it returns an error instead of adding anything.
func TestLNetTakenDownMeanwhile(t *testing.T) {
	cfg := config.Default()
	cfg.Networks = "lo"
	n, err := New(Config{Config: cfg})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := n.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	src, err := udsp.ParsePattern("tcp")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		function string
		do       func() error
		lock     *sync.Mutex
		want     syscall.Errno
	}{
		{"AddNetworks", func() error { return n.AddNetworks(AddRequest{Networks: "tcp(127.0.0.1)"}) }, &n.changing, syscall.ESHUTDOWN},
		{"AddRoutes", func() error {
			return n.AddRoutes(AddRoutesRequest{Nets: []string{"tcp7"}, Gateways: []string{"127.0.0.9@tcp"}, Hops: 1, Sensitivity: 1})
		}, &n.changing, syscall.ENETDOWN},
		{"applyRoutes", func() error { _, err := n.applyRoutes([]route.Route{{}}); return err }, &n.changing, syscall.ENETDOWN},
		{"AddPeer", func() error { return n.AddPeer(AddPeerRequest{Primary: nid.MustParse("127.0.0.8@tcp")}) }, &n.changing, syscall.ENETDOWN},
		{"AddUDSP", func() error { return n.AddUDSP(AddUDSP{Rule: udsp.Rule{Src: src}}) }, &n.policies.mu, syscall.ENETDOWN},
	} {
		c.lock.Lock()
		answer := make(chan error, 1)
		go func() { answer <- c.do() }()
		for !waitsForLock("node.(*Node)." + c.function + "(") {
			select {
			case err := <-answer:
				c.lock.Unlock()
				t.Fatalf("%s returned %v while a lock was held", c.function, err)
			default:
				runtime.Gosched()
			}
		}
		n.unconfigured.Store(true)
		c.lock.Unlock()
		if err := <-answer; !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.function, err, c.want)
		}
		n.unconfigured.Store(false)
	}
}
