//go:build linux

package main_test

import (
	"context"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ulnet/cmd/internal/modules/health"
	"ulnet/cmd/lnetd/internal/lnetdtest"
	"ulnet/lnd/lndtest/spec"
)

// TestHealthOfGone: CH-2, CH-66: all servers evict a client that has ended, even if its node
// still sends them messages. The cases are a client that is killed while other programs of the
// node continue, a client on the node of a server, and a client whose disconnect is lost.
func TestHealthOfGone(t *testing.T) {
	spec.Covers(t, "CH-2", "CH-66")
	if os.Getenv("ULNET_LONG") == "" {
		t.Skip("waits for three evictions: set ULNET_LONG=1")
	}
	c := &clinic{t: t, commands: lnetdtest.Build(t), ping: 2 * time.Second, both: 2, gone: map[int]bool{}}
	c.startAll()
	killed, unheard, beside := c.awaitHeld(3, 0, 1, 2), c.awaitHeld(4, 0, 1, 2), c.awaitHeld(2, 0, 1, 2)

	c.daemons[3].Kill()
	c.wantGone(3, killed, 0, 1, 2)

	if _, err := c.daemons[4].Lnetctl(t.Context(), "fault", "add", "--portal", "57", "cut"); err != nil {
		t.Fatal(err)
	}
	if err := c.daemons[4].Stop(); err != nil {
		t.Error(err)
	}
	c.wantGone(4, unheard, 0, 1, 2)

	c.daemons[2].Kill()
	c.wantGone(2, beside, 0, 1) // the restarted server still has the client in its records, until the client's master evicts it
}

// wantGone restarts daemon i without its client, and pings the servers from there until they
// have evicted the client.
func (c *clinic) wantGone(i int, dead health.ClientRole, servers ...int) {
	c.t.Helper()
	for _, k := range servers {
		if _, held := c.held(k, dead.Client); !held {
			c.t.Errorf("server %d has evicted client-%d before its node was back: the test shows nothing", k, i)
		}
	}
	c.gone[i] = true
	c.start(i)
	ctx, end := context.WithCancel(c.t.Context())
	defer end()
	var pings atomic.Int64
	var talk sync.WaitGroup
	for _, k := range servers {
		talk.Go(func() {
			for ctx.Err() == nil {
				if _, err := c.daemons[i].Lnetctl(ctx, "ping", clinicAddr(k)+"@tcp"); err == nil {
					pings.Add(1)
				}
			}
		})
	}
	for _, k := range servers {
		c.daemons[k].Until(heldWithin, "eviction of a client that is gone from a node that talks", func() bool {
			_, held := c.held(k, dead.Client)
			return !held
		})
	}
	end()
	talk.Wait()
	if pings.Load() < int64(len(servers)) {
		c.t.Errorf("client-%d: %d pings meanwhile: the test shows nothing", i, pings.Load())
	}
	c.t.Logf("client-%d evicted by all, with %d pings meanwhile", i, pings.Load())
}
