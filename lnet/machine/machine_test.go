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
