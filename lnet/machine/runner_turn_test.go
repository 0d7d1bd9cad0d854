package machine_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnet/machine"
)

// chain returns a Runner whose turns have 10 outputs, and the number of outputs applied so far. Each
// output that is applied causes the next one, until length outputs were applied.
func chain(length int64) (*machine.Runner[string, notes], *atomic.Int64) {
	var applied atomic.Int64
	var r *machine.Runner[string, notes]
	r, _ = newLog(machine.Config[string, notes]{Turn: 10, Apply: func(*notes) {
		if applied.Add(1) < length {
			r.Do("next")
		}
	}})
	return r, &applied
}

// TestRunnerTurn: effects that cause effects hold the goroutine of Do for one turn only, and
// a timer goes on with them.
func TestRunnerTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, applied := chain(95)
		if own := r.Do("first"); !own || applied.Load() != 10 || r.Pending() != 1 {
			t.Errorf("Do: %t, %d outputs were applied, %d are pending", own, applied.Load(), r.Pending())
		}
		if own := r.Do("another"); own || applied.Load() != 10 {
			t.Errorf("Do during a pause: %t, %d outputs were applied", own, applied.Load())
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if applied.Load() != 96 || r.Pending() != 0 {
			t.Errorf("%d outputs were applied, %d are pending", applied.Load(), r.Pending())
		}
	})
}

// TestRunnerTurnClose: Close applies the outputs that wait for the next turn of the runner.
func TestRunnerTurnClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, end := range []func(*machine.Runner[string, notes]) bool{
			func(r *machine.Runner[string, notes]) bool { r.Close(); return true },
			func(r *machine.Runner[string, notes]) bool { return r.CloseWithin(0) },
		} {
			r, applied := chain(95)
			r.Do("first")
			if !end(r) || applied.Load() != 11 || r.Stats().Steps != 11 {
				t.Errorf("%d outputs of %d steps were applied", applied.Load(), r.Stats().Steps)
			}
			time.Sleep(time.Second)
			synctest.Wait()
			if applied.Load() != 11 {
				t.Errorf("%d outputs were applied after Close", applied.Load())
			}
		}
	})
}
