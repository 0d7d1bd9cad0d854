package node

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/o2iblnd"
	"ulnet/lnd/verbs/softroce"
	"ulnet/lnd/verbs/softroce/emulator"
	"ulnet/lnet/machine"
	"ulnet/portals"
)

// overRDMA returns a network in memory for software RoCE.
func overRDMA() slowNet {
	network := emulator.New(emulator.Config{Clock: machine.RealClock(), Seed: 1, Faults: emulator.Faults{Delay: 10 * time.Microsecond}})
	open := softroce.NewOpener(softroce.Options{Network: network})
	return slowNet{"o2ib", func() (lnd.Driver, error) { return o2iblnd.New(o2iblnd.Config{Open: open}) }}
}

// TestSlowOverRDMA: like TestSlowHandler and TestLazyPortal, but over RDMA and with all nodes slow, each of which sends to all
// others. The messages are small, or longer than those that carry their payload themselves. No node is reported as
// dead, because a priority message needs no credit that messages on hold keep.
func TestSlowOverRDMA(t *testing.T) {
	const count = 2 * portals.MaxPending
	for _, size := range []int{8, 5000} {
		for _, lazy := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d bytes, lazy %v", size, lazy), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { allSlow(t, size, count, lazy) })
			})
		}
	}
}

func allSlow(t *testing.T, size, count int, lazy bool) {
	c := newSlowCluster(t, 4, overRDMA())
	defer c.stop()
	time.Sleep(30 * time.Second) // virtual time, in which all nodes get to know each other
	c.watch()
	handled := make([]*atomic.Int64, len(c.ids))
	for i := range c.ids {
		if lazy {
			c.must(c.tables[i].SetLazy(40))
		} else {
			handled[i] = c.slow(i, portals.MayBlock, size, 10*time.Second)
		}
	}
	for i := range c.ids {
		for to := range c.ids {
			if to != i {
				c.flood(i, to, size, count)
			}
		}
	}
	time.Sleep(9 * time.Second)
	for i := range c.ids {
		if lazy {
			handled[i] = c.slow(i, 0, size, 0)
		} else if n := handled[i].Load(); n != 1 {
			t.Errorf("node %d: %d events handled, want 1", i, n)
		}
	}
	time.Sleep(20 * time.Second)
	for i := range c.ids {
		if n, want := handled[i].Load(), int64((len(c.ids)-1)*count); n != want {
			t.Errorf("node %d: %d events handled, want %d", i, n, want)
		}
		if drops := c.tables[i].Node().Stats().DropReasons; len(drops) > 0 {
			t.Errorf("node %d: dropped: %v", i, drops)
		}
	}
}
