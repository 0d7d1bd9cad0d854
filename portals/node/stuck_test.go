package node_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd"
	"ulnet/lnet/nid"
	"ulnet/portals/node"
)

// stuckDriver is a driver whose upcalls have not returned until release is closed.
type stuckDriver struct {
	lnd.NI  // nil: nothing is sent
	release chan struct{}
}

func (*stuckDriver) Type() nid.NetType { return nid.GNI }

func (d *stuckDriver) Startup(lnd.Config, lnd.Upcalls) (lnd.NI, error) { return d, nil }

func (*stuckDriver) NID() nid.NID { return nid.FromNumber(nid.MakeNet(nid.GNI, 0), 1) }

func (d *stuckDriver) Shutdown(context.Context) error {
	<-d.release
	return nil
}

// TestCloseWithStuckHandler: Close ends though a handler does not return, at most five
// seconds after its context, and says so; one that returns in that time is waited for.
func TestCloseWithStuckHandler(t *testing.T) {
	for name, after := range map[string]time.Duration{"for ever": time.Hour, "for a while": 4 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n, err := node.Start(node.Config{Networks: "lo"})
				if err != nil {
					t.Fatal(err)
				}
				d := &stuckDriver{release: make(chan struct{})}
				if _, err := n.LNet().AddNI(d, lnd.Config{Net: nid.MakeNet(nid.GNI, 0)}); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				time.AfterFunc(after, func() { close(d.release) })
				done := make(chan error, 1)
				began := time.Now()
				go func() { done <- n.Close(ctx) }()
				select {
				case err := <-done:
					took, stuck := time.Since(began), after == time.Hour
					said := err != nil && strings.Contains(err.Error(), "handler")
					if stuck != errors.Is(err, context.DeadlineExceeded) || stuck != said || stuck != (took == 6*time.Second) {
						t.Errorf("%v after %v", err, took)
					}
				case <-time.After(time.Minute):
					t.Error("Close has not returned after a minute")
				}
				<-d.release // the goroutine that was left behind ends
				synctest.Wait()
			})
		})
	}
}
