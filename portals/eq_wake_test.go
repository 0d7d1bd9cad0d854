package portals

import (
	"context"
	"testing"
	"testing/synctest"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/machine"
)

// late is a context that stops a waiter after it has looked for an event and before it waits
// for one, until the gate is opened.
type late struct {
	context.Context
	gate chan struct{}
}

func (c late) Done() <-chan struct{} {
	<-c.gate
	return c.Context.Done()
}

// TestEQPassesOn: two events come when two waiters have found none but do not wait yet. There
// is one token for both events: the waiter that takes it wakes the other one.
func TestEQPassesOn(t *testing.T) {
	spec.Covers(t, "PT-37")
	synctest.Test(t, func(t *testing.T) {
		q := newReadLoop().q
		ctx := late{t.Context(), make(chan struct{})}
		const waiters = 3
		var done [waiters]bool
		for n := range waiters {
			go func() {
				_, err := q.Wait(ctx)
				done[n] = err == nil
			}()
		}
		synctest.Wait()
		for range waiters {
			q.push(&Event{}, nil)
		}
		close(ctx.gate)
		synctest.Wait()
		if done != [waiters]bool{true, true, true} {
			t.Errorf("%v have their event, want all", done)
		}
		if err := q.Free(); err != nil {
			t.Error(err)
		}
	})
}

// interrupted is a connection whose reader is interrupted by an event.
type interrupted struct {
	lnd.ReadLoop
	f func()
}

func (i *interrupted) Interrupt(lnd.Follower) { i.f() }

// TestEQFreedByReader: the goroutine that reads the last event of a queue may free the queue
// at once, while the goroutine that delivered the event still wakes others.
func TestEQFreedByReader(t *testing.T) {
	table := New(lnet.New(lnet.Config{Incarnation: 1, Clock: machine.RealClock()}))
	q, err := table.NewEQ(2)
	if err != nil {
		t.Fatal(err)
	}
	md, err := table.MDBind(MD{EQ: q}, Unlink)
	if err != nil {
		t.Fatal(err)
	}
	freed := false
	q.follower.inside, q.follower.waits = true, true
	q.follower.requested = &interrupted{f: func() {
		if e, ok, err := q.Get(); !ok || err != nil || !e.Unlinked {
			t.Errorf("event %v, %t, %v", &e, ok, err)
		}
		if err := q.Free(); err != nil {
			t.Errorf("the reader of the last event cannot free the queue: %v", err)
		}
		freed = true
	}}
	if err := table.MDUnlink(md); err != nil || !freed {
		t.Errorf("%v, freed %t", err, freed)
	}
}

// TestPollEQsPassesOn: a goroutine polls two queues. The second queue wakes it, but it takes an event
// from the first. It then wakes the next goroutine that waits for the second queue.
func TestPollEQsPassesOn(t *testing.T) {
	table := New(lnet.New(lnet.Config{Incarnation: 1, Clock: machine.RealClock()}))
	synctest.Test(t, func(t *testing.T) {
		first, second := newReadLoop().q, newReadLoop().q
		var polled, waited bool
		go func() {
			_, which, ok, err := table.PollEQs([]*EQ{first, second}, -1)
			polled = which == 0 && ok && err == nil
		}()
		synctest.Wait()
		go func() {
			_, err := second.Wait(t.Context())
			waited = err == nil
		}()
		synctest.Wait()
		first.mu.Lock()
		second.push(&Event{}, nil) // wakes the goroutine that polls both queues, because it was the first to wait
		first.wrote++
		first.mu.Unlock()
		synctest.Wait()
		if !polled || !waited {
			t.Errorf("polled %t, waited %t", polled, waited)
		}
		if err := second.Free(); err != nil {
			t.Error(err)
		}
	})
}
