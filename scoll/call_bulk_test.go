package scoll_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/scoll"
)

// TestCallBulkInUse: SC-35 and SC-166: the context of a call ends when a member has half of the bulk data. Call does not
// return before the network has let go of the data, since its caller may write to them afterwards, and the member's handler
// gets the data of the call.
func TestCallBulkInUse(t *testing.T) {
	spec.Covers(t, "SC-35", "SC-166")
	synctest.Test(t, func(t *testing.T) {
		const size = 1 << 20
		w := newWires(t, 2, scoll.Config{RTT: 50 * time.Millisecond})
		half, release, ran := make(chan struct{}), make(chan struct{}), make(chan struct{})
		w.amid = func() {
			close(half)
			<-release
		}
		want := bytes.Repeat([]byte{1}, size)
		w.handle(func(id int) scoll.Handler {
			return scoll.Handler{MaxBulk: size, Answer: func(_ context.Context, q *scoll.Question) ([]byte, error) {
				if id == 1 {
					if !bytes.Equal(q.Bulk, want) {
						t.Error("the handler gets data that the caller wrote after the call")
					}
					close(ran)
				}
				return nil, nil
			}}
		})
		ctx, cancel := context.WithCancel(t.Context())
		bulk, returned := bytes.Clone(want), make(chan struct{})
		go func() {
			r, err := w.ask(ctx, 0, scoll.Tree{}, scoll.CallConfig{Bulk: bulk})
			if !errors.Is(err, context.Canceled) || r == nil || len(r.Unreached) != 1 {
				t.Errorf("%+v, %v", r, err)
			}
			clear(bulk)
			close(returned)
		}()
		<-half
		cancel()
		time.Sleep(100 * time.Millisecond) // in the bubble: until the root has given the member up
		close(release)
		<-returned
		<-ran
	})
}

// TestCallBulkStopped: a call whose bulk data are in use ends when its agent is closed.
func TestCallBulkStopped(t *testing.T) {
	spec.Covers(t, "SC-166")
	synctest.Test(t, func(t *testing.T) {
		const size = 1 << 20
		w := newWires(t, 2, scoll.Config{RTT: 50 * time.Millisecond})
		half, release := make(chan struct{}), make(chan struct{})
		w.amid = func() {
			close(half)
			<-release
		}
		w.handle(func(int) scoll.Handler {
			return scoll.Handler{MaxBulk: size, Answer: func(context.Context, *scoll.Question) ([]byte, error) { return nil, nil }}
		})
		ctx, cancel := context.WithCancel(t.Context())
		returned := make(chan struct{})
		go func() {
			_, _ = w.ask(ctx, 0, scoll.Tree{}, scoll.CallConfig{Bulk: make([]byte, size)})
			close(returned)
		}()
		<-half
		cancel()
		time.Sleep(100 * time.Millisecond) // as above
		closeAgent(t, w.nodes[0].agent)
		<-returned
		close(release)
	})
}
