package scoll_test

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	lnetwire "ulnet/lnet/wire"
	"ulnet/scoll"
	"ulnet/scoll/wire"
)

// stall stops the first message that chosen accepts when half of its payload has arrived. It returns a channel that is
// closed then, and a function that lets the rest arrive.
func (w *wires) stall(chosen func(*lnd.Message) bool) (half chan struct{}, release func()) {
	half, rest := make(chan struct{}), make(chan struct{})
	var first sync.Once
	w.amid = func(m *lnd.Message) {
		if chosen(m) {
			first.Do(func() {
				close(half)
				<-rest
			})
		}
	}
	return half, func() { close(rest) }
}

func isFetch(m *lnd.Message) bool { return m.Header.Type == lnetwire.Reply }

func isAnswer(m *lnd.Message) bool {
	return m.Header.Type == lnetwire.Put && m.Header.Put().Portal == wire.ReplyPortal
}

// askUntilHalf makes a call from node 0, cancels it when half of a message has arrived, and waits for the call to return.
// The call must not wait for the rest of the message.
func (w *wires) askUntilHalf(half chan struct{}, cfg scoll.CallConfig) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		r, err := w.ask(ctx, 0, scoll.Tree{}, cfg)
		if !errors.Is(err, context.Canceled) || r == nil || len(r.Unreached) != 1 {
			w.t.Errorf("%+v, %v", r, err)
		}
	}()
	<-half
	cancel()
	select {
	case <-returned:
	case <-time.After(time.Second): // in the bubble
		w.t.Error("the call has not returned a second after its context has ended")
	}
}

// TestCallHalfAnswer: SC-166: the context of a call ends when half of a member's answer has arrived. The member can keep
// the rest back as long as it likes, and Call returns all the same.
func TestCallHalfAnswer(t *testing.T) {
	spec.Covers(t, "SC-166")
	synctest.Test(t, func(t *testing.T) {
		w := newWires(t, 2, scoll.Config{RTT: 50 * time.Millisecond})
		half, release := w.stall(isAnswer)
		w.handle(func(int) scoll.Handler {
			return scoll.Handler{Answer: func(context.Context, *scoll.Question) ([]byte, error) { return []byte("well"), nil }}
		})
		w.askUntilHalf(half, scoll.CallConfig{})
		release()
	})
}

// TestCallBulkInUse: SC-35 and SC-166: the context of a call ends when a member has half of the bulk data. Call does not
// wait for the member. Its caller writes to the data afterwards, and the member's handler gets the data of the call. As
// long as the members keep more of such data than MaxMemory, further calls with bulk data are refused.
func TestCallBulkInUse(t *testing.T) {
	spec.Covers(t, "SC-35", "SC-166")
	synctest.Test(t, func(t *testing.T) {
		const size = 1 << 20
		w := newWires(t, 2, scoll.Config{RTT: 50 * time.Millisecond})
		half, release := w.stall(isFetch)
		want, ran := bytes.Repeat([]byte{1}, size), make(chan struct{}, 2)
		w.handle(func(id int) scoll.Handler {
			h := scoll.Handler{MaxBulk: size, Answer: func(_ context.Context, q *scoll.Question) ([]byte, error) {
				if id == 1 {
					if !bytes.Equal(q.Bulk, want) {
						t.Error("the handler gets data that the caller wrote after the call")
					}
					ran <- struct{}{}
				}
				return nil, nil
			}}
			if id == 0 {
				h.MaxMemory = size - 1
			}
			return h
		})
		bulk := bytes.Clone(want)
		w.askUntilHalf(half, scoll.CallConfig{Bulk: bulk})
		clear(bulk)
		if _, err := w.ask(t.Context(), 0, scoll.Tree{}, scoll.CallConfig{Bulk: want}); !errors.Is(err, scoll.EBUSY) {
			t.Errorf("a call while a member keeps the data of another: %v", err)
		}
		release()
		<-ran
		synctest.Wait()
		if r, err := w.ask(t.Context(), 0, scoll.Tree{}, scoll.CallConfig{Bulk: want}); err != nil || r.Answered != 2 {
			t.Errorf("a call after that: %+v, %v", r, err)
		}
	})
}

// TestCallBulkStopped: an agent closes while a member has half of the bulk data of a call.
func TestCallBulkStopped(t *testing.T) {
	spec.Covers(t, "SC-166")
	synctest.Test(t, func(t *testing.T) {
		const size = 1 << 20
		w := newWires(t, 2, scoll.Config{RTT: 50 * time.Millisecond})
		half, release := w.stall(isFetch)
		w.handle(func(int) scoll.Handler {
			return scoll.Handler{MaxBulk: size, Answer: func(context.Context, *scoll.Question) ([]byte, error) { return nil, nil }}
		})
		w.askUntilHalf(half, scoll.CallConfig{Bulk: make([]byte, size)})
		closeAgent(t, w.nodes[0].agent)
		release()
	})
}
