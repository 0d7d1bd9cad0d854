package watch

import (
	"context"
	"errors"
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/machine"
)

// numbers is a queue that merges nothing.
type numbers []int

func (q *numbers) Push(i int) { *q = append(*q, i) }

func (q *numbers) Pop() int {
	i := (*q)[0]
	*q = (*q)[1:]
	return i
}

func (q *numbers) Len() int { return len(*q) }

// TestCloseWaits: the end of an agent waits for a running call of a function of a user, at most until the context ends.
// After Close no such function is called.
func TestCloseWaits(t *testing.T) {
	spec.Covers(t, "MS-112", "GO-82")
	var w Watchers[int]
	w.Init(machine.RealClock())
	called, release := make(chan struct{}), make(chan struct{})
	calls := 0
	w.Add(func(int) {
		calls++
		close(called)
		<-release
	}, new(numbers), func(func(int)) {})
	w.Tell(1)
	<-called
	w.Tell(2)
	w.Close()
	why := errors.New("there is no time")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if err := Returned(ctx, w.Idle(), "test", "a function"); !errors.Is(err, why) {
		t.Errorf("%v while a function is being called", err)
	}
	close(release)
	if err := Returned(t.Context(), w.Idle(), "test", "a function"); err != nil {
		t.Error(err)
	}
	if calls != 1 {
		t.Errorf("called %d times, the last ones after Close", calls)
	}
}
