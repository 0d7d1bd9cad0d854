package portals_test

import (
	"errors"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/portals"
)

// queues makes n queues on one node and a function that sends an event with
// header data to one of them.
func queues(t *testing.T, n int) (h *harness, list []*portals.EQ, send func(queue int, data uint64)) {
	t.Helper()
	h = newHarness(t)
	for i := range n {
		q, err := h.NewEQ(2)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, q)
		h.post(5, portals.Match{Bits: uint64(i)}, portals.MD{Threshold: inf, Options: portals.OpPut, EQ: q})
	}
	return h, list, func(queue int, data uint64) {
		err := h.Put(portals.PutRequest{
			MD: h.bind(portals.MD{Threshold: 1}), Target: h.self, Portal: 5, MatchBits: uint64(queue), HdrData: data,
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestPollEQs (PT-27): PollEQs reads from the first queue of its list that has an event. The clock of the node
// decides when its timeout has passed.
func TestPollEQs(t *testing.T) {
	spec.Covers(t, "PT-27")
	synctest.Test(t, func(t *testing.T) {
		h, list, send := queues(t, 3)
		want := func(timeout time.Duration, which int, data uint64, took time.Duration, overflow bool) {
			t.Helper()
			began := time.Now()
			e, got, ok, err := h.PollEQs(list, timeout)
			if ok != (data != 0) || got != which || e.HdrData != data || time.Since(began) != took || errors.Is(err, portals.ErrOverflow) != overflow {
				t.Errorf("event %d of queue %d, %v, %v after %v", e.HdrData, got, ok, err, time.Since(began))
			}
		}
		want(0, 0, 0, 0, false)
		want(time.Second, 0, 0, time.Second, false)
		send(2, 20)
		send(0, 1)
		send(0, 2)
		want(0, 0, 1, 0, false)
		want(time.Second, 0, 2, 0, false)
		want(-1, 2, 20, 0, false)
		time.AfterFunc(time.Minute, func() { send(1, 10) })
		want(time.Hour, 1, 10, time.Minute, false)
		time.AfterFunc(time.Minute, func() { send(2, 21) })
		want(-1, 2, 21, time.Minute, false)
		synctest.Wait() // the goroutine of the timer may still be in send: wait until it has returned
		for data := range uint64(3) {
			send(1, 11+data)
		}
		want(-1, 1, 12, 0, true)
	})
}

// TestPollEQsErrors: a call without queues fails with ENOENT, and so does one with a queue that is freed
// before the call or during it.
func TestPollEQsErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		if _, _, _, err := h.PollEQs(nil, 0); !errors.Is(err, syscall.ENOENT) {
			t.Errorf("no queues: %v", err)
		}
		first, err := h.NewEQ(1)
		if err != nil {
			t.Fatal(err)
		}
		second, err := h.NewEQ(1)
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, func() {
			if err := second.Free(); err != nil {
				t.Error(err)
			}
		})
		for range 2 {
			_, which, ok, err := h.PollEQs([]*portals.EQ{first, second}, time.Minute)
			if which != 1 || ok || !errors.Is(err, syscall.ENOENT) {
				t.Errorf("queue %d freed: %v, %v", which, ok, err)
			}
		}
	})
}

// TestPollEQsBesideWaiters: one goroutine polls two queues, and another one waits for each of the queues. Together
// they read all events.
func TestPollEQsBesideWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, list, send := queues(t, 2)
		const each = 50
		done := make(chan int)
		go func() {
			n := 0
			for {
				if _, _, ok, err := h.PollEQs(list, time.Minute); err != nil && !errors.Is(err, portals.ErrOverflow) || !ok {
					break
				}
				n++
			}
			done <- n
		}()
		for _, q := range list {
			go func() {
				n := 0
				for {
					if _, ok, err := q.Poll(time.Minute); err != nil && !errors.Is(err, portals.ErrOverflow) || !ok {
						break
					}
					n++
				}
				done <- n
			}()
		}
		for i := range each {
			send(0, uint64(i))
			send(1, uint64(i))
			synctest.Wait()
		}
		if n := <-done + <-done + <-done; n != 2*each {
			t.Errorf("%d events read, want %d", n, 2*each)
		}
	})
}
