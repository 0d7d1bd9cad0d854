package softroce

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"ulnet/lnd/verbs"
	"ulnet/lnet/machine"
)

// crowd is a set of goroutines that post on many connections with one completion queue.
type crowd struct {
	t       *testing.T
	pool    verbs.Pool
	running atomic.Int32 // upcalls that are in progress
	// by queue pair: ID that its next completion must have; needs no lock, because upcalls come one at
	// a time
	next    map[uint32]uint64
	ended   sync.Map // set of the numbers of queue pairs that have had their last event
	posting sync.WaitGroup
	posted  sync.WaitGroup // posted work requests that have not completed
}

// completed takes completions as the upcall of the queue.
func (w *crowd) completed(batch []verbs.Completion) {
	if w.running.Add(1) != 1 {
		w.t.Error("two upcalls at a time")
	}
	runtime.Gosched() // lets other goroutines run: if upcalls could overlap, they would do so here
	for i := range batch {
		w.complete(&batch[i])
	}
	w.running.Add(-1)
}

func (w *crowd) complete(c *verbs.Completion) {
	_, last := w.ended.Load(c.QPN)
	switch {
	case c.Op == verbs.Receive:
		w.pool.Return(c.Buffer)
		if last {
			w.t.Error("a message after the end")
		}
	case c.Status == verbs.Success && (c.ID != w.next[c.QPN] || last):
		w.t.Errorf("%+v, want %d", c, w.next[c.QPN])
	}
	if c.Op == verbs.Send {
		w.next[c.QPN]++
		w.posted.Done()
	}
}

// connect makes a connection: the node from requests it, and the node to accepts it.
func (w *crowd) connect(from, to *testNode, cq verbs.CQ) *shared {
	cfg := from.config()
	cfg.QP.Sends, cfg.QP.Recvs, cfg.QP.MaxSends = cq, cq, 64
	events := make(chan verbs.Event, 2)
	c, err := from.device.Connect(addrPort(to.device), cfg, func(c verbs.Conn, e verbs.Event) {
		if e.Kind == verbs.Disconnected {
			w.ended.Store(c.QPN(), true)
		}
		events <- e
	})
	if err != nil {
		w.t.Fatal(err)
	}
	take(w.t, events)
	return &shared{Conn: c}
}

// shared is a connection on which several goroutines post.
type shared struct {
	verbs.Conn
	mu   sync.Mutex // guards the field next
	next uint64     // ID of the next work request
}

// post posts a message, and returns how many were posted on the connection so far. ok is false if there
// was no room.
func (c *shared) post(posted *sync.WaitGroup) (count uint64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	posted.Add(1)
	if err := c.PostSend([]verbs.SendWR{send(c.next, []byte("message"))}); err != nil {
		posted.Done()
		return c.next, false
	}
	c.next++
	return c.next, true
}

// post starts a number of goroutines (posters), each of which posts a number of messages (each) on
// a connection. When three quarters of all messages are posted, one of the goroutines disconnects.
func (w *crowd) post(c *shared, posters, each int) {
	last := uint64(posters * each * 3 / 4)
	for range posters {
		w.posting.Go(func() {
			for n := 0; n < each; {
				count, ok := c.post(&w.posted)
				runtime.Gosched()
				if !ok {
					continue
				}
				if n++; count == last {
					c.Disconnect()
				}
			}
		})
	}
}

// TestUpcalls posts on many connections from many goroutines, with one completion
// queue, and disconnects: upcalls come one at a time, each connection's in order, and
// nothing but errors follows the last event.
func TestUpcalls(t *testing.T) {
	const conns, posters, each = 8, 4, 200
	var nodes [2]*testNode
	for i := range nodes {
		nodes[i] = openNode(t, Open, verbs.OpenConfig{Addr: loopbackAddr(), Clock: machine.RealClock(), ReceiveBuffer: 1 << 20})
	}
	w := &crowd{t: t, pool: nodes[0].pool, next: make(map[uint32]uint64)}
	cq, err := nodes[0].device.NewCQ(conns*64, w.completed)
	if err != nil {
		t.Fatal(err)
	}
	nodes[1].listen()
	var list []*shared
	for range conns {
		list = append(list, w.connect(nodes[0], nodes[1], cq))
	}
	for _, c := range list {
		w.post(c, posters, each)
	}
	over := make(chan struct{})
	var taking sync.WaitGroup
	taking.Go(func() { nodes[1].discard(over) })
	w.posting.Wait()
	w.posted.Wait()
	close(over)
	taking.Wait()
	for _, c := range list {
		c.Close()
	}
	if err := cq.Close(); err != nil {
		t.Error(err)
	}
}

// discard takes the node's messages until over is closed.
func (n *testNode) discard(over <-chan struct{}) {
	for {
		select {
		case <-n.got:
		case <-over:
			return
		}
	}
}
