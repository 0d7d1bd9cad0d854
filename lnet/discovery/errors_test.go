package discovery_test

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"testing/synctest"

	"ulnet/lnet/discovery"
	"ulnet/lnet/nid"
)

// TestDiscoverErrors: the errno of Discover for every reason, and that a node
// which cannot exist leaves no trace. What a ping or push fails with is in
// TestDiscover.
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
		"closed":    {id: nid.MustParse(nidB), prepare: func(a, _ *node, _ func()) { a.agent.Close() }, want: syscall.ESHUTDOWN},
		"its node has it no more": {id: nid.MustParse(nidB1), prepare: func(a, b *node, _ func()) {
			ni := b.add(nidB1)
			a.put(nidB, 1)
			a.cable.settle()
			if err := b.table.Node().RemoveNI(t.Context(), ni); err != nil {
				t.Error(err)
			}
			a.cable.waiting = nil // its push is lost
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
