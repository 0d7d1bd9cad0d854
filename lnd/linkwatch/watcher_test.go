package linkwatch

import (
	"errors"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
)

// broken is a kernel that answers nothing but an error.
type broken struct{ err error }

func (b broken) receive(time.Time) ([]byte, error) { return nil, b.err }
func (b broken) send([]byte) error                 { return nil }
func (b broken) close() error                      { return nil }

// TestFailAtStart: a watcher that fails at once returns from start at once. That holds even if the
// callback, changed, waits until start has returned, as it does if it needs a lock that the caller
// of start holds.
func TestFailAtStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err, began, started := errors.New("no kernel"), time.Now(), make(chan struct{})
		told := 0
		w := start(broken{err}, func() { <-started; told++ })
		if took := time.Since(began); took != 0 {
			t.Errorf("start took %v of virtual time", took)
		}
		close(started)
		w.done.Wait()
		if got := w.Err(); told != 1 || !errors.Is(got, err) || w.State(netip.MustParseAddr("10.0.0.1")) != nil {
			t.Errorf("changed was called %d times, error %v", told, got)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
}
