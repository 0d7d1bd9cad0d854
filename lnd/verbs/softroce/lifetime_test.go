package softroce

import (
	"errors"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnd/verbs/softroce/emulator"
	"ulnet/lnet/machine"
)

// TestPeerVanishes: when the peer does not answer any more the oldest request fails, the rest is
// flushed, and the connection ends with that status. The peer learns of the end once it can be
// reached again.
func TestPeerVanishes(t *testing.T) {
	v := newVirtual(t, 1, perfect)
	ends, events := v.pair(nil, nil)
	c := ends[0].conn.(*conn)
	v.net.Cut(peerAddr, c.route.To.Addr(), true)
	var got []verbs.Completion
	c.sends.done = func(batch []verbs.Completion) { got = append(got, batch...) }
	at := v.clock.Now()
	if err := c.PostSend([]verbs.SendWR{{ID: 1, Op: verbs.Send}, send(2, nil), {ID: 3, Op: verbs.Send}}); err != nil {
		t.Fatal(err)
	}
	timeout := ibta.AckTimeout(ackTimeout)
	v.clock.Run(at + 5*timeout)
	if len(got) > 0 || len(*events) != 2 {
		t.Errorf("too early: %+v, %+v", got, *events)
	}
	v.clock.Run(at + 7*timeout)
	want := []verbs.Status{verbs.RetryExceeded, verbs.Flushed, verbs.Flushed}
	for i, s := range want {
		if len(got) != len(want) || got[i].ID != uint64(i+1) || got[i].Status != s {
			t.Fatalf("%+v", got)
		}
	}
	if list := *events; len(list) != 3 || list[2].Kind != verbs.Disconnected || list[2].Status != verbs.RetryExceeded {
		t.Errorf("%+v", list)
	}
	v.net.Cut(peerAddr, c.route.To.Addr(), false)
	v.clock.Run(at + time.Minute)
	if list := *events; len(list) != 4 || list[3].Kind != verbs.Disconnected || list[3].Status != verbs.Success {
		t.Errorf("%+v", list)
	}
	if s := c.hub.stats(); s.QueuePairs != 0 || s.Transport.Timeouts != 6 {
		t.Errorf("%+v", s)
	}
	if n := c.sends.posted.Load(); n != 0 {
		t.Errorf("room for %d completions is not given back", n)
	}
}

// TestHeard: a passive side whose peer's RTU is lost learns from the first packet that the
// connection is established, before it gets the message.
func TestHeard(t *testing.T) {
	v := newVirtual(t, 1, perfect)
	lost := 0
	tap := func(p verbs.TappedPacket) {
		q, _ := ibta.ParsePacket(p.Bytes)
		if !p.Sent || q.DestQP != ibta.GSI {
			return
		}
		m, _, _ := ibta.ParseMAD(q.Payload)
		f := emulator.Faults{}
		if m.Attribute == ibta.AttrRTU {
			f.Loss = 1
			lost++
		}
		v.net.SetFaults(f)
	}
	var order []string
	b, err := v.open(verbs.OpenConfig{Addr: netip.MustParseAddr("10.0.0.2"), Clock: v.clock})
	if err != nil {
		t.Fatal(err)
	}
	pd, _ := b.NewPD()
	pool, _ := pd.NewPool(verbs.PoolConfig{Buffers: 1, Size: 10})
	cq, _ := b.NewCQ(10, func(batch []verbs.Completion) {
		order = append(order, "message")
		pool.Return(batch[0].Buffer)
	})
	if _, err := b.Listen(987, func(r verbs.Request) {
		cfg := verbs.ConnConfig{QP: verbs.QPConfig{PD: pd, Sends: cq, Recvs: cq, Pool: pool, MaxSends: 10}}
		if _, err := r.Accept(cfg, func(_ verbs.Conn, e verbs.Event) {
			order = append(order, [...]string{1: "established", 4: "over"}[e.Kind])
		}); err != nil {
			t.Error(err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	n := openNode(t, v.open, verbs.OpenConfig{Addr: netip.MustParseAddr("10.0.0.1"), Clock: v.clock, Tap: tap})
	c, err := n.device.Connect(netip.MustParseAddrPort("10.0.0.2:987"), n.config(), n.event)
	if err != nil {
		t.Fatal(err)
	}
	v.clock.Run(100 * time.Millisecond)
	take(t, n.events)
	if lost != 1 || len(order) != 0 {
		t.Fatalf("%d RTUs are lost, %v", lost, order)
	}
	v.net.SetFaults(perfect)
	if err := c.PostSend([]verbs.SendWR{send(1, []byte("hello"))}); err != nil {
		t.Fatal(err)
	}
	v.clock.Run(200 * time.Millisecond)
	if len(order) != 2 || order[0] != "established" || order[1] != "message" {
		t.Error(order)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// TestClampAck: the ACK timeout that a peer names is bounded.
func TestClampAck(t *testing.T) {
	for code, want := range map[uint8]time.Duration{
		0: ibta.AckTimeout(maxAckTimeout), 1: ibta.AckTimeout(leastAck), 17: ibta.AckTimeout(17), 31: ibta.AckTimeout(maxAckTimeout),
	} {
		if got := clampAck(code); got != want {
			t.Errorf("code %d: %v, want %v", code, got, want)
		}
	}
}

// TestHandles: opening an address again returns another handle of the same device. Closing a
// handle ends the connections of that handle; closing the last one frees the address.
func TestHandles(t *testing.T) {
	addr, clock := loopbackAddr(), machine.RealClock()
	first := openNode(t, Open, verbs.OpenConfig{Addr: addr, Clock: clock, MTU: 2048})
	second := openNode(t, Open, verbs.OpenConfig{Addr: addr, Clock: clock, MTU: 1024})
	if a, b := first.device.Attr(), second.device.Attr(); a != b || a.MTU != 2048 {
		t.Errorf("%+v and %+v", a, b)
	}
	peer := openNode(t, Open, verbs.OpenConfig{Addr: loopbackAddr(), Clock: clock})
	peer.listen()
	one, two := connect(t, first, peer), connect(t, second, peer)
	second.listen()
	if _, err := first.device.Listen(987, func(verbs.Request) {}); !errors.Is(err, errPortTaken) {
		t.Error(err)
	}
	cfg := first.config()
	cfg.QP.Sends = second.cq
	if _, err := first.device.Connect(addrPort(peer.device), cfg, first.event); !errors.Is(err, errParts) {
		t.Error(err)
	}
	if err := second.device.Close(); err != nil {
		t.Error(err)
	}
	for _, n := range []*testNode{second, peer} {
		if e := take(t, n.events); e.Kind != verbs.Disconnected {
			t.Errorf("%+v", e)
		}
	}
	if _, err := Open(verbs.OpenConfig{Addr: addr}); !errors.Is(err, errConfig) {
		t.Error(err)
	}
	if _, err := NewOpener(Options{})(verbs.OpenConfig{Addr: addr, Clock: clock}); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("the address is free: %v", err)
	}
	if err := one[0].PostSend([]verbs.SendWR{send(1, []byte("still there"))}); err != nil {
		t.Error(err)
	}
	if m := take(t, peer.got); string(m) != "still there" {
		t.Errorf("%q", m)
	}
	if err := two[1].PostSend([]verbs.SendWR{send(1, nil)}); err != nil {
		t.Error(err)
	}
	if c := take(t, peer.done); c.Status != verbs.Flushed {
		t.Errorf("%+v", c)
	}
	if err := first.device.Close(); err != nil {
		t.Error(err)
	}
	d, err := NewOpener(Options{})(verbs.OpenConfig{Addr: addr, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// TestChurn makes, uses and ends connections from many goroutines, over a wire that
// loses packets: in the end nothing is left.
func TestChurn(t *testing.T) {
	const workers = 8
	each := 25
	if testing.Short() || effort.Race {
		each = 8
	}
	clock := machine.RealClock()
	net := emulator.New(emulator.Config{Clock: clock, Seed: 5, Faults: emulator.Faults{Delay: 20 * time.Microsecond, Loss: 0.005}})
	open := NewOpener(Options{Network: net})
	var nodes [2]*testNode
	var accepted sync.Map
	var ended atomic.Int64
	for i, a := range []string{"10.0.0.1", "10.0.0.2"} {
		nodes[i] = openNode(t, open, verbs.OpenConfig{Addr: netip.MustParseAddr(a), Clock: clock})
		nodes[i].drop()
	}
	if _, err := nodes[1].device.Listen(987, func(r verbs.Request) {
		if r.Private()[0]%5 == 0 {
			_ = r.Reject(nil)
			return
		}
		c, err := r.Accept(nodes[1].config(), func(c verbs.Conn, e verbs.Event) {
			if e.Kind != verbs.Established {
				ended.Add(1)
				accepted.Delete(c)
				c.Close()
			}
		})
		if err == nil {
			accepted.Store(c, true)
		}
	}); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 1))
			for range each {
				nodes[0].churn(addrPort(nodes[1].device), rng)
			}
		})
	}
	all.Wait()
	for i, n := range nodes {
		if err := n.device.Close(); err != nil {
			t.Error(err)
		}
		if s := n.device.(*device).hub.stats(); s.QueuePairs != 0 || s.Regions != 0 {
			t.Errorf("node %d: %+v", i, s)
		}
		if free := n.pool.Stats().Free; free != 64 {
			t.Errorf("node %d: %d buffers are free", i, free)
		}
		if n := n.cq.(*cq).posted.Load(); n != 0 {
			t.Errorf("node %d: room for %d completions is not given back", i, n)
		}
	}
	accepted.Range(func(any, any) bool { t.Error("a connection was not ended"); return true })
	t.Logf("%d connections were accepted, %+v", ended.Load(), nodes[0].device.(*device).hub.stats())
}

// drop makes node n discard what it receives.
func (n *testNode) drop() {
	n.cq.(*cq).done = func(batch []verbs.Completion) {
		for i := range batch {
			if batch[i].Op == verbs.Receive {
				n.pool.Return(batch[i].Buffer)
			}
		}
	}
}

// churn opens, uses and ends a connection to the address given as to.
func (n *testNode) churn(to netip.AddrPort, rng *rand.Rand) {
	events := make(chan verbs.Event, 4)
	cfg := n.config()
	cfg.Private = []byte{byte(rng.Uint32())}
	c, err := n.device.Connect(to, cfg, func(_ verbs.Conn, e verbs.Event) { events <- e })
	if err != nil {
		n.t.Error(err)
		return
	}
	if rng.IntN(10) == 0 {
		c.Close() // Close ends the request without waiting for its event
		return
	}
	if take(n.t, events).Kind != verbs.Established {
		return
	}
	var posting sync.WaitGroup
	for range 2 {
		posting.Go(func() {
			for id := range uint64(20) {
				_ = c.PostSend([]verbs.SendWR{send(id, make([]byte, 3000))})
			}
		})
	}
	if rng.IntN(2) == 0 {
		posting.Wait()
		for !c.(*conn).isIdle() {
			runtime.Gosched()
		}
	}
	if rng.IntN(2) == 0 {
		c.Disconnect()
		take(n.t, events)
	}
	c.Close()
	posting.Wait()
}

// isIdle reports whether all that was posted has completed.
func (c *conn) isIdle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rc.sends.len() == 0
}

// TestOpenErrors: the error of a device that cannot be opened advises what to do, and nothing
// is left open.
func TestOpenErrors(t *testing.T) {
	clock := machine.RealClock()
	for want, cfg := range map[error]verbs.OpenConfig{
		errConfig:             {Addr: netip.MustParseAddr("224.0.0.1"), Clock: clock},
		errMTU:                {Addr: loopbackAddr(), Clock: clock, MTU: 200},
		syscall.EADDRNOTAVAIL: {Addr: netip.MustParseAddr("192.0.2.1"), Clock: clock},
	} {
		if d, err := Open(cfg); !errors.Is(err, want) {
			t.Errorf("%v, %v, want %v", d, err, want)
		}
	}
}
