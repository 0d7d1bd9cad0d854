package zone_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/gossip/zone"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/machine"
)

// TestCloseAmidJoin: MS-A2: a node is closed while Join waits for a disk that does not answer. Close waits for it, at
// most until its context ends, and the error says so. Join fails, and no call of Keep begins after Close.
func TestCloseAmidJoin(t *testing.T) {
	spec.Covers(t, "MS-A2")
	synctest.Test(t, func(t *testing.T) {
		e := newExchange(2)
		defer e.close()
		called, disk := make(chan uint64, 2), make(chan struct{})
		a, err := zone.New(e.table(t, 0), zone.Config{
			Zone: "test", Self: exchangeID(0), Bootstrap: []zone.ID{exchangeID(1)}, Clock: machine.RealClock(),
			Keep: func(n uint64) {
				called <- n
				<-disk
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		joined := make(chan error, 1)
		go func() { joined <- a.Join(1 << 40) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := a.Close(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "Config.Keep") {
			t.Errorf("closed while the disk is busy: %v", err)
		}
		close(disk)
		closed(t, a)
		if err := <-joined; !errors.Is(err, zone.ErrClosed) || a.Joined() {
			t.Errorf("the join ends with %v", err)
		}
		if err := a.Join(1 << 41); !errors.Is(err, zone.ErrClosed) || len(called) != 1 {
			t.Errorf("%v, and Keep was called %d times", err, len(called))
		}
	})
}
