package zone_test

import (
	"flag"
	"runtime"
	"slices"
	"testing"
	"time"

	"ulnet/gossip/zone"
	"ulnet/gossip/zone/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
)

var large = flag.Bool("large", false, "test 2048 agents, not 256")

// manyMessage is the size of buffers, and the limit of messages: a larger view is sent in several
// messages. A zone in one process needs so many buffers that larger ones would take too much memory.
const manyMessage = 64 << 10

// TestAgentsMany: MS-4, MS-104, MS-105: many whole stacks boot at once as one zone. They notice
// the death of some members and their return, and at rest they send only heartbeats.
func TestAgentsMany(t *testing.T) {
	spec.Covers(t, "MS-4", "MS-58", "MS-104", "MS-105")
	n, victims := 256, 16
	switch {
	case raceEnabled: // the test has a single goroutine, which cannot race
		n, victims = 24, 2
	case testing.Short():
		n, victims = 64, 4
	case *large:
		n, victims = 2048, 200
	}
	before := memory()
	c := newCluster(t, n, func(_ int, cfg *zone.Config) {
		cfg.MaxMessage, cfg.MaxMembers = manyMessage, 2*n
		cfg.Bootstrap = []zone.ID{agentID(0), agentID(1), agentID(2)}
	})
	c.lean = true
	settled := func(members int) func() bool {
		return func() bool {
			up := 0
			for i := range n {
				if c.fabric.Up(sim.NodeID(i)) {
					up++
					if c.sizes[i] != members-1 {
						return false
					}
				}
			}
			return up == members
		}
	}
	t.Logf("boot of %d: %v", n, c.until(5*time.Second, settled(n)))
	c.run(40 * time.Second)
	var most zone.Status
	sent := func() (heartbeats, all uint64) {
		for _, a := range c.agents {
			s := a.Status()
			heartbeats += s.Stats.Sent[wire.Heartbeat]
			for _, k := range s.Stats.Sent {
				all += k
			}
			if s.Links > most.Links {
				most = s
			}
		}
		return heartbeats, all
	}
	beats, all := sent()
	c.run(10 * time.Second)
	if b, a := sent(); a-all != b-beats || b-beats > uint64(10*12*n) {
		t.Errorf("MS-58: at rest %d messages in 10 s, %d of them heartbeats", a-all, b-beats)
	}
	t.Logf("at rest: %d bytes per node, %d links at most", (memory()-before)/int64(n), most.Links)

	for i := range victims {
		c.fabric.Kill(sim.NodeID(3 + i))
	}
	t.Logf("%d die: %v", victims, c.until(10*time.Second, settled(n-victims)))
	for i := range victims {
		c.fabric.Start(sim.NodeID(3+i), false)
	}
	t.Logf("%d come back: %v", victims, c.until(10*time.Second, settled(n)))
	for i, a := range c.agents {
		if s := a.Status(); s.Members != n || s.Hash != c.agents[0].Status().Hash || s.NotPosted+s.StrayBits > 0 {
			t.Fatalf("node %d: %+v", i, s)
		}
	}
	if names := c.agents[1].Find("n7"); !slices.Equal(names, []zone.ID{agentID(7)}) {
		t.Errorf("n7 is %v", names)
	}
}

func memory() int64 {
	var s runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}
