package main

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"

	"ulnet/health"
	"ulnet/health/engine"
	healthwire "ulnet/health/wire"
	"ulnet/lnet/nid"
)

// crowd is the state machine of a master that has many clients, and runs in virtual time.
type crowd struct {
	server *engine.Server
	now    time.Duration
	wake   time.Duration
	out    engine.ServerOutput
	ping   []byte
	busy   bool // the clients behave as if they had just sent messages that are no pings, which prove as well that they are alive
	looks  int  // how often the machine has asked when the last message of a client arrived
}

// Addresses of the servers. The addresses of the clients have the prefix in crowdHost.
var (
	crowdNet     = nid.MakeNet(nid.TCP, 0)
	crowdServers = []nid.NID{nid.FromNumber(crowdNet, 10<<24+1), nid.FromNumber(crowdNet, 10<<24+2)}
)

// crowdID returns the ID of client i, whose bits are mixed like those of a digest.
func crowdID(i int) (id health.ClientID) {
	binary.LittleEndian.PutUint64(id[:], uint64(i)*0x9E3779B97F4A7C15+1)
	binary.LittleEndian.PutUint64(id[8:], uint64(i))
	return id
}

func crowdHost(i int) nid.ProcessID {
	return nid.ProcessID{NID: nid.FromNumber(crowdNet, 11<<24+uint32(i)), PID: nid.LustrePID}
}

// crowdConnect returns the message with which client i connects to its master.
func crowdConnect(i int, master nid.NID) []byte {
	m := healthwire.Message{
		Kind: healthwire.Connect, Client: crowdID(i), Incarnation: 1, Epoch: 1, Sequence: 1, Server: master,
		Name: fmt.Appendf(nil, "client%06d", i),
	}
	return m.AppendTo(nil)
}

func crowdPing() []byte {
	m := healthwire.Message{Kind: healthwire.Ping, Incarnation: 1, Epoch: 1, Sequence: 2}
	return m.AppendTo(nil)
}

// clientAt is the offset of the client's ID in a message of client health.
const clientAt = 8

func newCrowd(clients int) *crowd {
	s := must(engine.NewServer(engine.ServerConfig{Self: crowdServers[0], Incarnation: 1, Servers: crowdServers}))
	c := &crowd{server: s, now: time.Hour, ping: crowdPing()}
	c.step(engine.ServerInput{Kind: engine.ServerHealth, Server: crowdServers[1], Alive: true})
	c.step(engine.ServerInput{Kind: engine.QuorumIs, Alive: true})
	c.idle(2 * time.Second) // for this time a server that starts waits for the tombstones of other servers; here none come
	for i := range clients {
		c.step(engine.ServerInput{Kind: engine.Arrived, From: crowdHost(i), Data: crowdConnect(i, crowdServers[0])})
	}
	c.idle(12 * time.Second) // by then, the counters that limit the rate of connects are zero again
	if st := s.Status(); st.Mastered != clients {
		succeed(fmt.Errorf("%d of %d clients are connected", st.Mastered, clients))
	}
	return c
}

// step steps the machine, and at once completes what it requests from the store and the
// transport.
func (c *crowd) step(in engine.ServerInput) {
	c.out.Reset()
	c.wake = c.server.Step(c.now, in, &c.out)
	for i := 0; i < len(c.out.Effects); i++ {
		switch e := &c.out.Effects[i]; {
		case e.Kind == engine.DoSave && e.ID != 0:
			c.wake = c.server.Step(c.now, engine.ServerInput{Kind: engine.Saved, ID: e.ID}, &c.out)
		case e.Kind == engine.DoLook:
			c.looks++
			c.wake = c.server.Step(c.now, engine.ServerInput{Kind: engine.Seen, Client: e.Client, At: c.now, Failed: !c.busy}, &c.out)
		case e.Kind == engine.DoSend && c.busy:
			c.answer(e)
		}
	}
}

// answer delivers the answer of a busy client to a message that asks it whether it is alive.
func (c *crowd) answer(e *engine.ServerEffect) {
	m, err := healthwire.ParseMessage(c.out.Data(e))
	if err != nil || m.Kind != healthwire.Ask {
		return
	}
	m.Kind = healthwire.Here
	c.wake = c.server.Step(c.now, engine.ServerInput{Kind: engine.Arrived, From: e.To, Data: m.AppendTo(nil)}, &c.out)
}

// idle advances the time by d without messages.
func (c *crowd) idle(d time.Duration) {
	for end := c.now + d; c.now < end; {
		if c.now = min(c.wake, end); c.now == c.wake {
			c.step(engine.ServerInput{Kind: engine.ServerTimer})
		}
	}
}

// pings delivers a ping of each client, in the order given, and spreads them over one interval.
func (c *crowd) pings(order []int, interval time.Duration) {
	each := interval / time.Duration(len(order))
	for _, i := range order {
		if c.now += each; c.now >= c.wake {
			c.step(engine.ServerInput{Kind: engine.ServerTimer})
		}
		id := crowdID(i)
		copy(c.ping[clientAt:], id[:])
		c.step(engine.ServerInput{Kind: engine.Arrived, From: crowdHost(i), Data: c.ping})
	}
}

// measureMasters measures goal G-CH-5: the cost of many clients for one master.
func measureMasters(b *measurement) {
	clients := pick(b, 5000, 100_000, 100_000)
	measureCrowd(b, clients)
	runtime.GC()
	measureCrowdStack(b, clients)
	measureDeaths(b)
	measureStore(b)
}

// measureCrowd measures the state machine alone.
func measureCrowd(b *measurement, clients int) {
	timing := must(health.Timing{}.Filled())
	order := rand.New(rand.NewPCG(1, 1)).Perm(clients)
	before := liveHeap()
	c := newCrowd(clients)
	c.out = engine.ServerOutput{}
	perClient := float64(liveHeap()-before) / float64(clients)
	pings := coreShare(b, timing.Ping, func() { c.pings(order, timing.Ping) })
	// A client that sends other messages sends no pings. After T_evict without a ping the state machine asks when
	// the last message of the client arrived; the cost of these questions is measured.
	c.busy = true
	c.idle(timing.Evict)
	was := c.looks
	stamps := coreShare(b, timing.Evict, func() { c.idle(timing.Evict) })
	if c.server.Status().Mastered != clients || c.looks == was {
		b.check(fmt.Errorf("clients were lost: %+v", c.server.Status()))
	}
	runtime.KeepAlive(c)
	what := fmt.Sprintf("%d clients on one master", clients)
	b.add(
		line{what: what + ", a ping each in " + timing.Ping.String() + ", machine: CPU", ratio: pings, unit: "%", limit: 5, basis: fmt.Sprintf("of a core; %.0f ns for a ping with its pong", pings/100*float64(timing.Ping)/float64(clients))},
		line{what: what + ", busy with other things so that none pings, machine: CPU", ratio: stamps, unit: "%", limit: 5, basis: fmt.Sprintf("of a core; each looked up once in %v", timing.Evict)},
		line{what: what + ", machine: memory of a client besides the transport", ratio: perClient, unit: "B", limit: 200, basis: "live heap, the client's name of 12 bytes included"},
	)
}

// coreShare returns the CPU time that do takes, in percent of the interval. It is the median of
// several rounds.
func coreShare(b *measurement, interval time.Duration, do func()) float64 {
	do() // warm-up
	var shares []float64
	for range b.rounds {
		b.check(nil)
		cpu := cpuTime()
		do()
		shares = append(shares, 100*float64(cpuTime()-cpu)/float64(interval))
	}
	return median(shares)
}
