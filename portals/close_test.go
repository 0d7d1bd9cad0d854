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

// TestCloseEndsWaiters: after the table was closed, calls that wait for events, and later ones, first return
// the events that exist, and then an error.
func TestCloseEndsWaiters(t *testing.T) {
	for name, wait := range map[string]func(t *testing.T, h *harness, q *portals.EQ) error{
		"Wait": func(t *testing.T, _ *harness, q *portals.EQ) error {
			_, err := q.Wait(t.Context())
			return err
		},
		"Poll": func(_ *testing.T, _ *harness, q *portals.EQ) error {
			_, _, err := q.Poll(1 << 60)
			return err
		},
		"Poll without end": func(_ *testing.T, _ *harness, q *portals.EQ) error {
			_, _, err := q.Poll(-1)
			return err
		},
		"PollEQs": func(_ *testing.T, h *harness, q *portals.EQ) error {
			_, _, _, err := h.PollEQs([]*portals.EQ{q}, -1)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, q, send := newQueue(t, 4)
				const waiters = 3
				ended := make(chan error, waiters)
				for range waiters {
					go func() { ended <- wait(t, h, q) }()
				}
				synctest.Wait()
				h.Close()
				h.Close()
				for range waiters {
					if err := <-ended; !errors.Is(err, syscall.ESHUTDOWN) {
						t.Errorf("%v, want ESHUTDOWN", err)
					}
				}
				send(1)
				if err := wait(t, h, q); err != nil {
					t.Errorf("an event that is there: %v", err)
				}
				if err := wait(t, h, q); !errors.Is(err, syscall.ESHUTDOWN) {
					t.Errorf("waiting anew: %v, want ESHUTDOWN", err)
				}
				if _, err := h.NewEQ(4); !errors.Is(err, syscall.ESHUTDOWN) {
					t.Errorf("a new queue: %v, want ESHUTDOWN", err)
				}
			})
		})
	}
}

// TestPollEQsAfterClose (PT-27): PollEQs of a closed table returns the events that are in later queues of its list
// before the error of an empty one.
func TestPollEQsAfterClose(t *testing.T) {
	spec.Covers(t, "PT-27")
	h, q, send := newQueue(t, 4)
	empty, err := h.NewEQ(4)
	if err != nil {
		t.Fatal(err)
	}
	send(1)
	h.Close()
	queues := []*portals.EQ{empty, q}
	for _, timeout := range []time.Duration{-1, 0, time.Hour} {
		if _, which, ok, err := h.PollEQs(queues, timeout); !ok || which != 1 || err != nil {
			t.Errorf("timeout %v: queue %d, %v, %v; want an event of queue 1", timeout, which, ok, err)
		}
		if _, which, ok, err := h.PollEQs(queues, timeout); ok || which != 0 || !errors.Is(err, syscall.ESHUTDOWN) {
			t.Errorf("timeout %v: queue %d, %v, %v; want ESHUTDOWN of queue 0", timeout, which, ok, err)
		}
		send(1)
	}
}
