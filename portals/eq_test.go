package portals_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// newQueue returns a queue that gets an event with header data n for each
// call of send(n).
func newQueue(t *testing.T, size int) (h *harness, q *portals.EQ, send func(n uint64)) {
	t.Helper()
	h = newHarness(t)
	q, err := h.NewEQ(size)
	if err != nil {
		t.Fatal(err)
	}
	h.post(5, portals.Match{}, portals.MD{
		Segments: []lnd.Segment{make([]byte, 8)}, Threshold: inf, Options: portals.OpPut | portals.ManageRemote, EQ: q,
	})
	return h, q, func(n uint64) {
		md := h.bind(portals.MD{Threshold: 1})
		if err := h.Put(portals.PutRequest{MD: md, Target: h.self, Portal: 5, HdrData: n}); err != nil {
			t.Error(err)
		}
	}
}

// TestEQRing (PT-26) checks which events are read after a number of events were sent to rings of various sizes. An
// event is written as "sequence:data", with "!" if ErrOverflow came with it.
func TestEQRing(t *testing.T) {
	spec.Covers(t, "PT-26")
	for name, c := range map[string]struct {
		size, events int
		want         []string
	}{
		"empty":             {4, 0, nil},
		"one":               {4, 1, []string{"1:1"}},
		"full":              {4, 4, []string{"1:1", "2:2", "3:3", "4:4"}},
		"one lost":          {4, 5, []string{"2:2!", "3:3", "4:4", "5:5"}},
		"many lost":         {4, 21, []string{"18:18!", "19:19", "20:20", "21:21"}},
		"size 3 is 4":       {3, 4, []string{"1:1", "2:2", "3:3", "4:4"}},
		"size 1":            {1, 3, []string{"3:3!"}},
		"size 1, not lost":  {1, 1, []string{"1:1"}},
		"size 5 is 8, lost": {5, 9, []string{"2:2!", "3:3", "4:4", "5:5", "6:6", "7:7", "8:8", "9:9"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, q, send := newQueue(t, c.size)
			for i := range c.events {
				send(uint64(i + 1))
			}
			var got []string
			for {
				e, ok, err := q.Get()
				if !ok {
					break
				}
				s := fmt.Sprintf("%d:%d", e.Sequence, e.HdrData)
				if errors.Is(err, portals.ErrOverflow) {
					s += "!"
				} else if err != nil {
					t.Fatal(err)
				}
				got = append(got, s)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestEQPoll checks that time-outs use the node's clock.
func TestEQPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, q, send := newQueue(t, 4)
		start := time.Now()
		wantPoll := func(timeout time.Duration, want uint64, took time.Duration) {
			t.Helper()
			began := time.Now()
			e, ok, err := q.Poll(timeout)
			if ok != (want != 0) || err != nil || e.HdrData != want || time.Since(began) != took {
				t.Errorf("at %v: event %d, %v, %v after %v", time.Since(start), e.HdrData, ok, err, time.Since(began))
			}
		}
		wantPoll(0, 0, 0)
		wantPoll(time.Second, 0, time.Second)
		time.AfterFunc(time.Second, func() { send(1) })
		wantPoll(time.Minute, 1, time.Second)
		time.AfterFunc(time.Hour, func() { send(2) })
		wantPoll(-1, 2, time.Hour)
		send(3)
		wantPoll(time.Second, 3, 0)
		wantPoll(0, 0, 0)
	})
}

func TestEQWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, q, send := newQueue(t, 4)
		cause := errors.New("test: enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(cause) })
		if _, err := q.Wait(ctx); !errors.Is(err, cause) {
			t.Errorf("cancelled: %v", err)
		}
		send(1)
		if e, err := q.Wait(ctx); e.HdrData != 1 || err != nil { // an existing event takes precedence over the end of ctx
			t.Errorf("event %d, %v", e.HdrData, err)
		}
	})
}

// TestEQWaiters (PT-28): several waiters share the events; no event is lost, and freeing the
// queue ends the calls of all waiters.
func TestEQWaiters(t *testing.T) {
	spec.Covers(t, "PT-28")
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		q, err := h.NewEQ(64)
		if err != nil {
			t.Fatal(err)
		}
		const waiters, events = 5, 40
		var mu sync.Mutex
		seen := make(map[uint64]int)
		for range waiters {
			go func() {
				for {
					e, err := q.Wait(t.Context())
					if err != nil {
						if !errors.Is(err, syscall.ENOENT) {
							t.Error(err)
						}
						return
					}
					mu.Lock()
					seen[e.Sequence]++
					mu.Unlock()
				}
			}()
		}
		synctest.Wait()
		for range events {
			md := h.bind(portals.MD{EQ: q})
			if err := h.MDUnlink(md); err != nil {
				t.Error(err)
			}
		}
		synctest.Wait()
		if len(seen) != events {
			t.Errorf("%d of %d events seen", len(seen), events)
		}
		if err := q.Free(); err != nil {
			t.Error(err)
		}
		synctest.Wait() // the bubble ends only when all waiters have ended
	})
}

// TestEQFree (PT-28): a queue cannot be freed while an MD names it. Reads of a freed queue
// fail.
func TestEQFree(t *testing.T) {
	spec.Covers(t, "PT-28")
	h := newHarness(t)
	for _, size := range []int{0, -1, 1<<24 + 1} {
		if _, err := h.NewEQ(size); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("size %d: %v", size, err)
		}
	}
	q, err := h.NewEQ(2)
	if err != nil {
		t.Fatal(err)
	}
	md := h.bind(portals.MD{EQ: q})
	if err := q.Free(); !errors.Is(err, syscall.EBUSY) {
		t.Errorf("while an MD names it: %v", err)
	}
	if err := errors.Join(h.MDUnlink(md), q.Free()); err != nil {
		t.Error(err)
	}
	if _, _, err := q.Get(); !errors.Is(err, syscall.ENOENT) {
		t.Errorf("reading a freed queue: %v", err)
	}
}

// TestEQFreeAfterLastEvent: the goroutine that has read the last event of the last MD may
// free the queue at once, although the goroutine that delivered the event is still running.
func TestEQFreeAfterLastEvent(t *testing.T) {
	table, net := newWire(t)
	h := &harness{Table: table, t: t}
	q, err := h.NewEQ(2)
	if err != nil {
		t.Fatal(err)
	}
	h.post(1, portals.Match{}, portals.MD{Threshold: 1, Options: portals.OpPut, EQ: q})
	acks := 0
	net.onSend = func() {
		acks++
		if e, ok, err := q.Get(); !ok || err != nil || !e.Unlinked {
			t.Errorf("event %v, %t, %v", &e, ok, err)
		}
		if err := q.Free(); err != nil {
			t.Error(err)
		}
	}
	if err := net.arrive(putHeader(0, wire.PutCmd{AckMD: handle(1), Portal: 1}), nil); err != nil {
		t.Fatal(err)
	}
	net.finalize(net.next(), nil)
	if acks != 1 {
		t.Errorf("%d ACKs", acks)
	}
}

// TestHandlerThenEQ: an MD with handler and queue passes each event to the handler, then to the queue.
func TestHandlerThenEQ(t *testing.T) {
	h := newHarness(t)
	q, err := h.NewEQ(2)
	if err != nil {
		t.Fatal(err)
	}
	handled := 0
	md := h.bind(portals.MD{EQ: q, Handler: func(e *portals.Event) {
		if _, ok, _ := q.Get(); ok {
			t.Error("the queue had the event before the handler")
		}
		handled++
	}})
	if err := h.MDUnlink(md); err != nil {
		t.Fatal(err)
	}
	if e, ok, _ := q.Get(); !ok || e.Kind != portals.EventUnlink || handled != 1 {
		t.Errorf("handled %d times, queued %v", handled, ok)
	}
}
