package scoll_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/scoll"
)

// TestReplyCutOff: SC-136: connections end amid the payload of two replies. The parent posts the buffer
// again, so that the reply which the child sends again counts.
func TestReplyCutOff(t *testing.T) {
	spec.Covers(t, "SC-136")
	synctest.Test(t, func(t *testing.T) {
		const n = 4
		w := newWires(t, n, scoll.Config{RTT: time.Second, Guard: 100 * time.Millisecond})
		w.handle(func(int) scoll.Handler {
			return scoll.Handler{Inline: true, Answer: func(context.Context, *scoll.Question) ([]byte, error) { return make([]byte, 1000), nil }}
		})
		w.cut.Store(2)
		r, err := w.ask(t.Context(), 0, scoll.Tree{}, scoll.CallConfig{})
		if err != nil || r.Answered != n || len(r.Unreached) != 0 {
			t.Fatalf("answered %d, unreached %v, %v", r.Answered, r.Unreached, err)
		}
	})
}
