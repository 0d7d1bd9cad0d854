package deadline

import (
	"context"
	"errors"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestWait: Wait returns when the function has returned, or with the cause of a context that ends first.
func TestWait(t *testing.T) {
	called := false
	if err := Wait(t.Context(), func() { called = true }); err != nil || !called {
		t.Errorf("called %v, %v", called, err)
	}
	stuck, cause := make(chan struct{}), errors.New("over")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if err := Wait(ctx, func() { <-stuck }); !errors.Is(err, cause) {
		t.Errorf("%v, want %v", err, cause)
	}
	close(stuck)
	if err := Wait(ctx, func() {}); err != nil {
		t.Errorf("nothing to wait for: %v", err)
	}
}
