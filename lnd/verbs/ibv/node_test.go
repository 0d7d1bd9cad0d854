//go:build ibverbs && cgo && linux

package ibv

import (
	"bytes"
	"net/netip"
	"testing"
	"time"

	"ulnet/lnd/verbs"
	"ulnet/lnet/machine"
)

// quickClock is a clock whose timers run fifty times faster.
type quickClock struct{ machine.Clock }

func (c quickClock) AfterFunc(d time.Duration, f func()) machine.Timer {
	return c.Clock.AfterFunc(d/50, f)
}

// node is a device with one of each object that a connection needs.
type node struct {
	t    *testing.T
	addr netip.Addr
	dev  verbs.Device
	pd   verbs.PD
	cq   verbs.CQ
	pool verbs.Pool

	done chan verbs.Completion // completions of work requests
	got  chan []byte           // copies of the messages received
	keep bool                  // send received buffers to kept instead of copies to got
	kept chan verbs.Completion
}

const nodeBuffers, nodeBufferSize, nodeSends = 16, 4096, 8

func newNode(t *testing.T, addr string) *node {
	t.Helper()
	n := &node{
		t: t, addr: netip.MustParseAddr(addr),
		done: make(chan verbs.Completion, 4096), got: make(chan []byte, 4096), kept: make(chan verbs.Completion, 4096),
	}
	if err := n.open(); err != nil {
		t.Fatal(err)
	}
	return n
}

// open opens the device and all objects. If it fails close frees those that were opened.
func (n *node) open() (err error) {
	if n.dev, err = Open(verbs.OpenConfig{Addr: n.addr, Clock: quickClock{machine.RealClock()}}); err != nil {
		n.dev = nil
		return err
	}
	if n.pd, err = n.dev.NewPD(); err != nil {
		return err
	}
	if n.cq, err = n.dev.NewCQ(nodeSends, n.completed); err != nil {
		return err
	}
	n.pool, err = n.pd.NewPool(verbs.PoolConfig{Buffers: nodeBuffers, Size: nodeBufferSize})
	return err
}

func (n *node) completed(batch []verbs.Completion) {
	for _, c := range batch {
		switch {
		case c.Op != verbs.Receive:
			n.done <- c
		case n.keep:
			n.kept <- c
		default:
			n.got <- bytes.Clone(c.Buffer.Bytes)
			n.pool.Return(c.Buffer)
		}
	}
}

// close closes the node's objects in the right order.
func (n *node) close() {
	n.t.Helper()
	for _, c := range []interface{ Close() error }{n.cq, n.pool, n.pd, n.dev} {
		if c == nil {
			continue
		}
		if err := c.Close(); err != nil {
			n.t.Error(err)
		}
	}
}

func (n *node) qp() verbs.QPConfig {
	return verbs.QPConfig{ID: 77, PD: n.pd, Sends: n.cq, Recvs: n.cq, Pool: n.pool, MaxSends: nodeSends}
}

// end is one end of a connection.
type end struct {
	*node
	conn   verbs.Conn
	events chan verbs.Event
}

func (e *end) event(c verbs.Conn, ev verbs.Event) {
	ev.Private = bytes.Clone(ev.Private)
	e.events <- ev
}

func newEnd(n *node) *end { return &end{node: n, events: make(chan verbs.Event, 8)} }

func (e *end) want(kind verbs.EventKind) verbs.Event {
	e.t.Helper()
	ev := within(e.t, "an event", e.events)
	if ev.Kind != kind {
		e.t.Fatalf("event %+v, want kind %d", ev, kind)
	}
	return ev
}

// connect connects a with b and returns both ends.
func connect(t *testing.T, a, b *node) (*end, *end) {
	t.Helper()
	x, y := newEnd(a), newEnd(b)
	requests := make(chan verbs.Request, 1)
	l, err := b.dev.Listen(987, func(r verbs.Request) { requests <- r })
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cfg := verbs.ConnConfig{QP: a.qp(), SrcPort: 1023, RetryCount: 5, RNRRetryCount: 6, Private: []byte("asks")}
	if x.conn, err = a.dev.Connect(netip.AddrPortFrom(b.addr, 987), cfg, x.event); err != nil {
		t.Fatal(err)
	}
	r := within(t, "a request", requests)
	if !bytes.HasPrefix(r.Private(), []byte("asks\x00")) || r.Peer() != netip.AddrPortFrom(a.addr, 1023) {
		t.Errorf("request of %v: %q", r.Peer(), r.Private())
	}
	if y.conn, err = r.Accept(verbs.ConnConfig{QP: b.qp(), RNRRetryCount: 6, Private: []byte("yes")}, y.event); err != nil {
		t.Fatal(err)
	}
	if ev := x.want(verbs.Established); !bytes.HasPrefix(ev.Private, []byte("yes\x00")) {
		t.Errorf("the answer is %q", ev.Private)
	}
	y.want(verbs.Established)
	if _, err := r.Accept(verbs.ConnConfig{}, nil); err == nil {
		t.Error("a request was accepted twice")
	}
	return x, y
}

// hangUp disconnects x and y.
func hangUp(x, y *end) {
	x.t.Helper()
	x.conn.Disconnect()
	x.want(verbs.Disconnected)
	y.want(verbs.Disconnected)
	x.conn.Close()
	y.conn.Close()
}

func (e *end) post(wrs ...verbs.SendWR) {
	e.t.Helper()
	if err := e.conn.PostSend(wrs); err != nil {
		e.t.Fatal(err)
	}
}

func (e *end) wantDone(id uint64, status verbs.Status) {
	e.t.Helper()
	c := within(e.t, "a completion", e.done)
	if c.ID != id || c.Status != status || c.QPN != e.conn.QPN() {
		e.t.Fatalf("completion %+v, want ID %d, %v", c, id, status)
	}
}

// pattern makes n bytes that depend on seed.
func pattern(n int, seed byte) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7) + seed + byte(i>>8)
	}
	return b
}
