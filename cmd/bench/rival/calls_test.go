package rival

import (
	"errors"
	"sync/atomic"
	"testing"
)

// TestCalls: the callers share the requests, and end at the first error.
func TestCalls(t *testing.T) {
	var counts [3]atomic.Int64
	took, err := Calls{Callers: 3, Count: 10}.Run(func(i int) error { counts[i].Add(1); return nil })
	if err != nil || took <= 0 {
		t.Errorf("%v, %v", took, err)
	}
	for i, want := range []int64{3, 3, 4} {
		if got := counts[i].Load(); got != want {
			t.Errorf("caller %d has sent %d requests, want %d", i, got, want)
		}
	}
	broken := errors.New("broken")
	if _, err := (Calls{Callers: 2, Count: 1 << 40}).Run(func(i int) error {
		if i == 1 {
			return broken
		}
		return nil
	}); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}
