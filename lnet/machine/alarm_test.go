package machine_test

import (
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnet/machine"
)

// TestAlarm: an alarm calls its function at the instant that it was set to last, and not at all after Stop or Never.
// It needs no memory after the first Set.
func TestAlarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []time.Duration
		clock := machine.RealClock()
		a := machine.Alarm{Clock: clock}
		a.Call = func() { at = append(at, clock.Now()) }
		a.Stop()
		a.Set(0, machine.Never)
		a.Set(0, 5*time.Second)
		a.Set(0, 3*time.Second)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		a.Set(clock.Now(), 0)
		time.Sleep(time.Second)
		synctest.Wait()
		a.Set(clock.Now(), 20*time.Second)
		a.Set(clock.Now(), machine.Never)
		time.Sleep(20 * time.Second)
		synctest.Wait()
		a.Set(clock.Now(), 40*time.Second)
		a.Stop()
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if len(at) != 2 || at[0] != 3*time.Second || at[1] != 10*time.Second {
			t.Errorf("called at %v, want 3s and 10s", at)
		}
		if n := testing.AllocsPerRun(100, func() { a.Set(0, time.Hour) }); n != 0 {
			t.Errorf("%v allocations", n)
		}
		a.Stop()
	})
}
