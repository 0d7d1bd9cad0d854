package engine

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// crowd steps one server that has a great number of clients.
type crowd struct {
	s    *Server
	now  time.Duration
	wake time.Duration
	out  ServerOutput
	ping []byte
}

func newCrowd(tb testing.TB, n int) *crowd {
	s, err := NewServer(ServerConfig{Self: me, Incarnation: 1, Servers: []nid.NID{me, otherA}})
	if err != nil {
		tb.Fatal(err)
	}
	c := &crowd{s: s, now: time.Hour}
	c.step(ServerInput{Kind: ServerHealth, Server: otherA, Alive: true})
	c.step(ServerInput{Kind: QuorumIs, Alive: true})
	none := wire.Message{Kind: wire.TombstonesReply, Sequence: 1, Epoch: 1}
	c.step(ServerInput{Kind: Arrived, From: nid.ProcessID{NID: otherA, PID: nid.LustrePID}, Data: none.AppendTo(nil)})
	for i := range n {
		m := wire.Message{Kind: wire.Connect, Client: crowdID(i), Incarnation: 1, Server: me, Epoch: 1, Name: []byte("client-00")}
		c.step(ServerInput{Kind: Arrived, From: crowdHost(i), Data: m.AppendTo(nil)})
		for k := range c.out.Effects {
			if e := c.out.Effects[k]; e.Kind == DoSave && e.ID != 0 {
				c.step(ServerInput{Kind: Saved, ID: e.ID})
				break
			}
		}
	}
	c.ping = (&wire.Message{Kind: wire.Ping, Client: crowdID(0), Incarnation: 1, Epoch: 1}).AppendTo(nil)
	return c
}

func crowdID(i int) (id wire.ClientID) {
	binary.LittleEndian.PutUint64(id[:], uint64(i)*0x9E3779B97F4A7C15+1)
	return id
}

func crowdHost(i int) nid.ProcessID {
	return nid.ProcessID{NID: nid.FromNumber(me.Net(), 1<<24+uint32(i)), PID: nid.LustrePID}
}

func (c *crowd) step(in ServerInput) {
	c.out.Reset()
	c.wake = c.s.Step(c.now, in, &c.out)
}

// pingOf delivers a ping of client i.
func (c *crowd) pingOf(i int) {
	id := crowdID(i)
	copy(c.ping[8:], id[:])
	c.step(ServerInput{Kind: Arrived, From: crowdHost(i), Data: c.ping})
}

// TestMemory: G-CH-5: a master needs at most 200 bytes per client, including the client's name.
func TestMemory(t *testing.T) {
	spec.Covers(t, "G-CH-5")
	n := effort.Of(20_000, 20_000, 100_000)
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	c := newCrowd(t, n)
	if c.s.Status().Mastered != n {
		t.Fatalf("%+v", c.s.Status())
	}
	// Let 12 s pass: the counters that limit how often a client connects (flaps) are removed after 10 s.
	for end := c.now + 12*time.Second; c.now < end; {
		c.now = min(c.wake, end)
		c.step(ServerInput{})
	}
	c.out = ServerOutput{}
	if each := float64(heap()-before) / float64(n); each > 200 {
		t.Errorf("%.0f bytes per client", each)
	} else {
		t.Logf("%.0f bytes per client", each)
	}
	runtime.KeepAlive(c)
}

// TestManyDeaths: CH-27, CH-A10: ten thousand clients that die at the same time are evicted
// within two seconds after T_evict if a broadcast takes 100 ms.
func TestManyDeaths(t *testing.T) {
	spec.Covers(t, "CH-27", "CH-A10")
	const n = 10_000
	c := newCrowd(t, n)
	died := c.now
	type broadcast struct {
		id uint64
		at time.Duration
	}
	var flying []broadcast
	evicted, broadcasts := 0, 0
	var look func()
	look = func() {
		for _, e := range slices.Clone(c.out.Effects) {
			switch {
			case e.Kind == DoLook: // the node is silent, too
				c.step(ServerInput{Kind: Seen, Client: e.Client, Failed: true})
				look()
			case e.Kind == DoBroadcast:
				broadcasts++
				flying = append(flying, broadcast{e.ID, c.now + 100*time.Millisecond})
			case e.Kind == DoTell && e.Event.Kind == ClientEvicted:
				evicted++
			}
		}
	}
	for evicted < n && c.now < died+time.Minute {
		if len(flying) > 0 && flying[0].at <= c.wake {
			c.now = flying[0].at
			c.step(ServerInput{Kind: BroadcastDone, ID: flying[0].id, Data: (&wire.Reply{}).AppendTo(nil)})
			flying = flying[1:]
		} else {
			c.now = c.wake
			c.step(ServerInput{})
		}
		look()
	}
	if took := c.now - died - c.s.cfg.Evict; evicted != n || took > 2*time.Second+100*time.Millisecond {
		t.Errorf("%d evicted, %v after the time-out", evicted, took)
	}
	if most := n/wire.MaxBatch + 2; broadcasts > most {
		t.Errorf("%d broadcasts, more than %d", broadcasts, most)
	}
}

// TestPingAllocs: a server allocates no memory for a ping.
func TestPingAllocs(t *testing.T) {
	c := newCrowd(t, 1000)
	i := 0
	if got := testing.AllocsPerRun(1000, func() {
		i = (i + 1) % 1000
		c.pingOf(i)
	}); got > 0 {
		t.Errorf("%v allocations per ping", got)
	}
}

// BenchmarkPings is G-CH-5: a master of 100 000 clients receives their pings and watches their
// deadlines. "core%" is the share of a core that this takes at one ping per client and
// interval.
func BenchmarkPings(b *testing.B) {
	spec.Covers(b, "G-CH-5")
	const n = 100_000
	c := newCrowd(b, n)
	interval := c.s.cfg.Ping
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		c.pingOf(i)
		if i++; i == n {
			i = 0
		}
		if c.now += interval / n; c.now >= c.wake {
			c.step(ServerInput{})
		}
	}
	perPing := float64(b.Elapsed()) / float64(b.N)
	b.ReportMetric(perPing*n/float64(interval)*100, "core%")
	if c.s.Status().Mastered != n {
		b.Fatal(fmt.Errorf("%+v", c.s.Status()))
	}
}
