package node_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals/node"
)

// stuckDriver is a driver whose Shutdown does not return until release is closed, as if Shutdown waited
// for an upcall in which a handler runs.
type stuckDriver struct {
	lnd.NI  // gives the type all methods of an NI; nil, because the test calls only the methods that are defined below
	release chan struct{}
}

func (*stuckDriver) Type() nid.NetType { return nid.GNI }

func (d *stuckDriver) Startup(lnd.Config, lnd.Upcalls) (lnd.NI, error) { return d, nil }

func (*stuckDriver) NID() nid.NID { return nid.FromNumber(nid.MakeNet(nid.GNI, 0), 1) }

func (d *stuckDriver) Shutdown(context.Context) error {
	<-d.release
	return nil
}

// TestCloseWithStuckHandler: if a handler does not return, Close returns an error at most five
// seconds after the end of its context, even a context that has no end. If a handler returns in
// that time, Close waits for it.
func TestCloseWithStuckHandler(t *testing.T) {
	for name, test := range map[string]struct {
		after, within time.Duration // time until the handler returns, and until the context ends (0: it has no end)
		want          time.Duration // how long Close takes
	}{
		"for ever":                 {time.Hour, time.Second, 6 * time.Second},
		"for a while":              {4 * time.Second, time.Second, 4 * time.Second},
		"for ever, without end":    {time.Hour, 0, 2*time.Minute + 5*time.Second},
		"for a while, without end": {time.Minute, 0, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n, err := node.Start(node.Config{Networks: "lo", Clock: machine.RealClock()})
				if err != nil {
					t.Fatal(err)
				}
				d := &stuckDriver{release: make(chan struct{})}
				if _, err := n.LNet().AddNI(d, lnd.Config{Net: nid.MakeNet(nid.GNI, 0)}); err != nil {
					t.Fatal(err)
				}
				ctx := context.Background()
				if test.within > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, test.within)
					defer cancel()
				}
				time.AfterFunc(test.after, func() { close(d.release) })
				done := make(chan error, 1)
				began := time.Now()
				go func() { done <- n.Close(ctx) }()
				select {
				case err := <-done:
					took, stuck := time.Since(began), test.after == time.Hour
					said := err != nil && strings.Contains(err.Error(), "handler")
					if took != test.want || stuck != said || stuck && test.within > 0 != errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("%v after %v, want %v", err, took, test.want)
					}
				case <-time.After(10 * time.Minute):
					t.Error("Close has not returned after ten minutes")
				}
				<-d.release // the goroutine that Close left behind ends now
				synctest.Wait()
			})
		})
	}
}
