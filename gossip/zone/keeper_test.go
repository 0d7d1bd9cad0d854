package zone

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/machine"
)

// TestKeepSeldom: MS-A2: other nodes make a node take a higher incarnation again and again. It stores the latest one,
// about once per second, one call at a time, also if it joins meanwhile; a lower number never follows a higher one. Close
// stores the latest at once.
func TestKeepSeldom(t *testing.T) {
	spec.Covers(t, "MS-A2")
	synctest.Test(t, func(t *testing.T) {
		var k keeper
		var kept []uint64
		var busy atomic.Bool
		k.init(func(n uint64) {
			if busy.Swap(true) || len(kept) > 0 && n <= kept[len(kept)-1] {
				t.Errorf("%d is stored after %d, or beside another call", n, kept)
			}
			time.Sleep(5 * time.Millisecond)
			kept = append(kept, n)
			busy.Store(false)
		}, machine.RealClock())
		n := uint64(0)
		for range 10_000 {
			n++
			k.soon(n)
			time.Sleep(time.Millisecond)
		}
		if synctest.Wait(); len(kept) < 9 || len(kept) > 11 {
			t.Errorf("%d calls in ten seconds", len(kept))
		}
		n += 2
		for k.soon(n - 1); !busy.Load(); { // Join while the timer stores a number
			time.Sleep(time.Millisecond)
		}
		k.now(n)
		if last := kept[len(kept)-1]; last != n {
			t.Errorf("%d is stored when %d should be", last, n)
		}
		k.soon(n + 1)
		k.close()
		begin := time.Now()
		<-k.idle
		if last := kept[len(kept)-1]; last != n+1 || time.Since(begin) > 10*time.Millisecond {
			t.Errorf("closed after %v, and %d is stored instead of %d", time.Since(begin), last, n+1)
		}
	})
}
