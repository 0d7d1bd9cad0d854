package scoll_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/scoll"
)

// TestNewGroupGivenUp: SC-18: if the context of NewGroup ends while a long list is sent to the members, the
// group ends at all of them as soon as it exists, because no handle of it was returned.
func TestNewGroupGivenUp(t *testing.T) {
	spec.Covers(t, "SC-18")
	synctest.Test(t, func(t *testing.T) {
		const n = 60
		w := newWires(t, n, scoll.Config{})
		w.handle(func(int) scoll.Handler {
			return scoll.Handler{Answer: func(context.Context, *scoll.Question) ([]byte, error) { return nil, nil }}
		})
		var ids []nid.NID
		for i := range n {
			ids = append(ids, wireNID(i))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for {
			g, err := w.nodes[0].agent.NewGroup(ctx, handled, ids...)
			if errors.Is(err, context.Canceled) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			g.Destroy(func(error) {}) // it was there at once: try again
		}
		synctest.Wait()
		for i, k := range w.nodes {
			if groups := k.agent.Groups(); len(groups) != 0 {
				t.Errorf("node %d has %d groups", i, len(groups))
			}
		}
	})
}
