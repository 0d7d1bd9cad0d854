package zone_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/gossip/zone"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/machine"
	"ulnet/portals"
)

// join makes a node of an exchange a member.
func (e *exchange) join(t *testing.T, table *portals.Table, i int, incarnation uint64, keep func(uint64)) *zone.Agent {
	t.Helper()
	a, err := zone.New(table, zone.Config{
		Zone: "test", Self: exchangeID(i), Bootstrap: []zone.ID{exchangeID(0), exchangeID(1)}, Keep: keep, Clock: machine.RealClock(),
	})
	if err == nil {
		err = a.Join(incarnation)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestSlowKeep: MS-A2: a node has to take a higher incarnation than its clock gives it, and its disk takes half a
// minute to store the number. The node takes part all the while, so that no member removes it. Close waits for the
// disk, at most until its context ends.
func TestSlowKeep(t *testing.T) {
	spec.Covers(t, "MS-A2")
	synctest.Test(t, func(t *testing.T) {
		const n, victim, before = 4, 3, 1 << 40
		e := newExchange(n)
		defer e.close()
		var mu sync.Mutex
		var gone []zone.Event // guarded by mu
		for i := range victim {
			a := e.join(t, e.table(t, i), i, 0, nil)
			defer closed(t, a)
			a.Watch(func(e zone.Event) {
				mu.Lock()
				defer mu.Unlock()
				if e.Kind == zone.Left && e.Cause != zone.Restarted {
					gone = append(gone, e)
				}
			})
		}
		table := e.table(t, victim)
		closed(t, e.join(t, table, victim, before, nil))
		time.Sleep(100 * time.Millisecond)
		kept := make(chan uint64, 1)
		a := e.join(t, table, victim, 0, func(inc uint64) {
			time.Sleep(30 * time.Second)
			kept <- inc
		})
		time.Sleep(20 * time.Second)
		if v := a.Status().Version.Inc; v <= before || len(kept) > 0 {
			t.Errorf("incarnation %d after %d, and %d are kept", v, before, len(kept))
		}
		mu.Lock()
		if len(gone) > 0 {
			t.Errorf("it was removed: %v", gone)
		}
		mu.Unlock()
		why := errors.New("there is no time")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(why)
		if err := a.Close(ctx); !errors.Is(err, why) || !strings.Contains(err.Error(), "Config.Keep") {
			t.Errorf("closed while the disk is busy: %v", err)
		}
		closed(t, a)
		if len(kept) != 1 || <-kept != a.Status().Version.Inc {
			t.Error("the number is not kept after Close")
		}
	})
}
