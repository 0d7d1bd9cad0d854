package discovery_test

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"testing/synctest"

	"ulnet/lnd"
	"ulnet/lnet/discovery"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// TestDiscoverErrors checks the errno of Discover for every reason, and that the NID of a node that
// cannot exist leaves no peer in the table. TestDiscover has the errors of pings and pushes.
func TestDiscoverErrors(t *testing.T) {
	const nidB1 = "10.1.0.2@tcp1"
	for name, c := range map[string]struct {
		id      nid.NID
		prepare func(a, b *node, cancel func())
		want    error
	}{
		"nobody":    {id: nid.NID{}, want: syscall.EINVAL},
		"anybody":   {id: nid.Any(), want: syscall.EINVAL},
		"cancelled": {id: nid.MustParse("10.0.0.9@tcp"), prepare: func(_, _ *node, cancel func()) { cancel() }, want: context.Canceled},
		"closed":    {id: nid.MustParse(nidB), prepare: func(a, _ *node, _ func()) { _ = a.agent.Close(context.Background()) }, want: syscall.ESHUTDOWN},
		"its node has it no more": {id: nid.MustParse(nidB1), prepare: func(a, b *node, _ func()) {
			ni := b.add(nidB1)
			a.put(nidB, 1)
			a.cable.settle()
			if err := b.table.Node().RemoveNI(t.Context(), ni); err != nil {
				t.Error(err)
			}
			a.cable.waiting = nil // the push of node A is lost
		}, want: syscall.ENOENT},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newCable(t)
				a, b := w.node(discovery.Config{}, nidA, "10.1.0.1@tcp1"), w.node(discovery.Config{}, nidB)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.prepare != nil {
					c.prepare(a, b, cancel)
				}
				done := make(chan error, 1)
				go func() {
					_, err := a.agent.Discover(ctx, c.id, false)
					done <- err
				}()
				synctest.Wait()
				w.settle()
				if err := <-done; !errors.Is(err, c.want) {
					t.Errorf("%v, want %v", err, c.want)
				}
				if known := a.table.Node().Snapshot().Nodes; c.want == syscall.EINVAL && len(known) > 0 {
					t.Errorf("left %+v", known)
				}
			})
		})
	}
}

// TestPingRestarted: a ping that was sent to an earlier incarnation of its target is sent
// once more, but not a third time.
func TestPingRestarted(t *testing.T) {
	for failures, want := range map[int]error{0: nil, 1: nil, 2: syscall.ESTALE} {
		synctest.Test(t, func(t *testing.T) {
			w := newCable(t)
			a := w.node(discovery.Config{Off: true}, nidA)
			w.node(discovery.Config{Off: true}, nidB)
			sent := 0
			w.refuse = func(m *lnd.Message) error {
				if m.Header.Type != wire.Get {
					return nil
				}
				if sent++; sent <= failures {
					return fmt.Errorf("driver: %w", syscall.ESTALE)
				}
				return nil
			}
			done := make(chan error, 1)
			go func() {
				_, err := discovery.Ping(t.Context(), a.table, nid.ProcessID{NID: nid.MustParse(nidB)}, discovery.PingOptions{})
				done <- err
			}()
			synctest.Wait()
			w.settle()
			if err := <-done; !errors.Is(err, want) || sent != min(failures+1, 2) {
				t.Errorf("%d failures: %v after %d GETs, want %v", failures, err, sent, want)
			}
		})
	}
}
