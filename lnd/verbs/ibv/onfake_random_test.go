//go:build ibverbs && cgo && linux

package ibv

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ulnet/lnd/verbs"
	"ulnet/lnet/machine"
)

// TestOnFakeRandom: many connections at once send, write and end at any moment and from either
// side. Every work request completes once, in order, and no connection or memory is left.
func TestOnFakeRandom(t *testing.T) {
	s := fake(t)
	rounds := 40
	if testing.Short() {
		rounds = 8
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	a, b := newCrowd(t, "127.0.0.2"), newCrowd(t, "127.0.0.3")
	l, err := b.dev.Listen(987, b.accept)
	if err != nil {
		t.Fatal(err)
	}
	// On a busy machine the first connections may end before anything arrives: then the test makes
	// more of them.
	quiet := func() bool { return a.messages.Load() == 0 || b.messages.Load() == 0 }
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			for n := 0; n < rounds || n < 1000 && quiet(); n++ {
				a.visit(b.addr, random)
			}
		})
	}
	all.Wait()
	_ = l.Close()
	b.refuse()
	b.members.Wait()
	a.close()
	b.close()
	for _, c := range []*crowd{a, b} {
		if stats := c.pool.Stats(); stats.Free != 32 {
			t.Errorf("%d buffers are left in the pool", stats.Free)
		}
	}
	t.Logf("%d messages, %d posted", a.messages.Load()+b.messages.Load(), s.posts)
	if quiet() {
		t.Error("nothing arrived")
	}
}

// crowd is a device with many connections.
type crowd struct {
	t        *testing.T
	addr     netip.Addr
	dev      verbs.Device
	pd       verbs.PD
	sends    verbs.CQ
	recvs    verbs.CQ
	pool     verbs.Pool
	members  sync.WaitGroup
	messages atomic.Int64

	mu   sync.Mutex // guards all fields below
	over bool       // further requests are rejected
	next uint64
	ends map[uint64]*guest // ends of connections, by the ID of their receives
}

// guest is one end of a connection.
type guest struct {
	crowd *crowd
	conn  verbs.Conn
	id    uint64
	ended chan struct{} // closed when the last event has come

	mu     sync.Mutex
	posted uint32
	done   uint32
	heard  uint32
	last   bool
}

func newCrowd(t *testing.T, addr string) *crowd {
	t.Helper()
	c := &crowd{t: t, addr: netip.MustParseAddr(addr), ends: map[uint64]*guest{}}
	var err [5]error
	if c.dev, err[0] = Open(verbs.OpenConfig{Addr: c.addr, Clock: quickClock{machine.RealClock()}}); err[0] != nil {
		t.Fatal(err)
	}
	c.pd, err[1] = c.dev.NewPD()
	c.sends, err[2] = c.dev.NewCQ(4, c.completed)
	c.recvs, err[3] = c.dev.NewCQ(4, c.completed)
	if err == [5]error{} {
		c.pool, err[4] = c.pd.NewPool(verbs.PoolConfig{Buffers: 32, Size: 512})
	}
	if err != [5]error{} {
		t.Fatal(err)
	}
	return c
}

func (c *crowd) close() {
	for _, x := range []interface{ Close() error }{c.sends, c.recvs, c.pool, c.pd, c.dev} {
		if err := x.Close(); err != nil {
			c.t.Error(err)
		}
	}
}

func (c *crowd) guest() (*guest, verbs.QPConfig) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	g := &guest{crowd: c, id: c.next, ended: make(chan struct{})}
	c.ends[g.id] = g
	return g, verbs.QPConfig{ID: g.id, PD: c.pd, Sends: c.sends, Recvs: c.recvs, Pool: c.pool, MaxSends: 8}
}

func (c *crowd) find(id uint64) *guest {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ends[id]
}

// completed checks the order of completions and messages. The ID of a work request contains the ID
// of its guest, the end of the connection, and its own number; a message begins with its number.
func (c *crowd) completed(batch []verbs.Completion) {
	for _, w := range batch {
		if w.Op != verbs.Receive {
			g := c.find(w.ID >> 32)
			g.mu.Lock()
			if uint32(w.ID) != g.done {
				c.t.Errorf("work request %d completes, %d is next", uint32(w.ID), g.done)
			}
			g.done++
			g.mu.Unlock()
			continue
		}
		g := c.find(w.ID)
		n := binary.LittleEndian.Uint32(w.Buffer.Bytes)
		g.mu.Lock()
		switch {
		case g.last:
			c.t.Error("a message follows the last event")
		case n != g.heard || !bytes.Equal(w.Buffer.Bytes[4:], pattern(len(w.Buffer.Bytes)-4, byte(n))):
			c.t.Errorf("message %d, %d is next, or its bytes differ", n, g.heard)
		}
		g.heard++
		g.mu.Unlock()
		c.messages.Add(1)
		c.pool.Return(w.Buffer)
	}
}

// event records the last event; half of the time it closes the connection at once.
func (g *guest) event(conn verbs.Conn, ev verbs.Event) {
	if ev.Kind == verbs.Established {
		return
	}
	g.mu.Lock()
	if g.last {
		g.crowd.t.Errorf("event %+v follows the last one", ev)
	}
	g.last = true
	g.mu.Unlock()
	if g.id%2 == 0 {
		conn.Close()
	}
	close(g.ended)
}

// send posts messages, and counts those that are not refused.
func (g *guest) send(random *rand.Rand) {
	for range random.IntN(60) {
		g.mu.Lock()
		n := g.posted
		data := append(binary.LittleEndian.AppendUint32(nil, n), pattern(random.IntN(500), byte(n))...)
		wr := verbs.SendWR{ID: g.id<<32 | uint64(n), Pieces: []verbs.SGE{{Bytes: data}}, Signaled: true}
		g.mu.Unlock()
		// PostSend is called without g.mu: by the rules of verbs it may make upcalls, and these
		// take g.mu
		if err := g.conn.PostSend([]verbs.SendWR{wr}); err == nil {
			g.mu.Lock()
			g.posted++
			g.mu.Unlock()
		}
	}
}

// leave closes the connection, half of the time only after all work requests have completed.
func (g *guest) leave(random *rand.Rand) {
	if random.IntN(2) == 0 {
		g.rest()
	}
	g.conn.Close()
	g.rest()
}

// rest waits until all work requests have completed.
func (g *guest) rest() {
	deadline := time.Now().Add(time.Minute)
	for {
		g.mu.Lock()
		rest := g.posted - g.done
		g.mu.Unlock()
		if rest == 0 {
			return
		}
		if time.Now().After(deadline) {
			g.crowd.t.Errorf("%d work requests never complete", rest)
			return
		}
		<-time.After(time.Millisecond)
	}
}

func (c *crowd) accept(r verbs.Request) {
	c.mu.Lock()
	if c.over {
		c.mu.Unlock()
		_ = r.Reject(nil) // fails only if the peer has gone away
		return
	}
	c.members.Add(1)
	c.mu.Unlock()
	g, qp := c.guest()
	conn, err := r.Accept(verbs.ConnConfig{QP: qp}, g.event)
	if err != nil {
		c.members.Done()
		return // the peer has closed its end meanwhile
	}
	g.conn = conn
	go func() {
		defer c.members.Done()
		random := rand.New(rand.NewPCG(g.id, 1))
		g.send(random)
		if random.IntN(2) == 0 {
			conn.Disconnect()
		}
		within(c.t, "the end of an accepted connection", g.ended)
		g.leave(random)
	}()
}

// refuse makes accept reject all further requests. A request that arrived before the listener was closed may
// still be handed to accept after that, while the test waits for the members.
func (c *crowd) refuse() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
}

func (c *crowd) visit(to netip.Addr, random *rand.Rand) {
	g, qp := c.guest()
	established := make(chan verbs.EventKind, 2)
	conn, err := c.dev.Connect(netip.AddrPortFrom(to, 987), verbs.ConnConfig{QP: qp}, func(conn verbs.Conn, ev verbs.Event) {
		established <- ev.Kind
		g.event(conn, ev)
	})
	if err != nil {
		c.t.Error(err)
		return
	}
	g.conn = conn
	if random.IntN(8) == 0 {
		conn.Close() // closes the connection while the request is pending
		return
	}
	if within(c.t, "an event", established) != verbs.Established {
		g.leave(random)
		return
	}
	g.send(random)
	if random.IntN(2) == 0 {
		conn.Disconnect()
		within(c.t, "the end of a connection", g.ended)
	}
	g.leave(random)
}
