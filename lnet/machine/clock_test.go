package machine_test

import (
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnet/machine"
)

func TestRealClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := machine.RealClock()
		if now := clock.Now(); now != 0 {
			t.Errorf("begins at %v", now)
		}
		fired := make(chan time.Duration, 1)
		clock.AfterFunc(time.Hour, func() { fired <- clock.Now() })
		stopped := clock.AfterFunc(time.Minute, func() { t.Error("a stopped timer fired") })
		if !stopped.Stop() || stopped.Stop() {
			t.Error("Stop must report true once")
		}
		<-time.After(2 * time.Hour)
		synctest.Wait()
		select {
		case at := <-fired:
			if at != time.Hour {
				t.Errorf("fired at %v, want %v", at, time.Hour)
			}
		default:
			t.Error("did not fire")
		}
	})
}

// TestBootClock: the clock runs at least as fast as the monotonic clock, and faster only
// while the system is suspended.
func TestBootClock(t *testing.T) {
	boot := machine.BootClock()
	began := machine.RealClock()
	var last time.Duration
	for began.Now() < 5*time.Millisecond {
		passed := began.Now()
		now := boot.Now()
		if now < last || now < passed {
			t.Fatalf("%v after %v, %v after its start", now, last, passed)
		}
		last = now
	}
	fired := make(chan struct{})
	boot.AfterFunc(time.Microsecond, func() { close(fired) })
	<-fired
	if boot.AfterFunc(time.Hour, func() { t.Error("a stopped timer fired") }).Stop() != true {
		t.Error("Stop reports false")
	}
	if n := testing.AllocsPerRun(100, func() { boot.Now() }); n != 0 {
		t.Error("Now allocates", n, "times")
	}
}
